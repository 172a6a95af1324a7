"""``headrace audit``: compares ledgers and lists the records in their steps."""

from __future__ import annotations

import json

import click

from headrace.cli.option_types import steps as step_range

__all__ = ["audit"]


@click.command(short_help="Compare the data of training runs, using their ledgers.")
@click.argument("files", metavar="LEDGER", nargs=-1, required=True)
@click.option("--steps", callback=step_range, metavar="A:B", help="Look only at steps A to B - 1.")
@click.option(
    "--pipeline",
    metavar="MODULE:NAME",
    help="List the records of the steps with this pipeline, as MODULE:NAME or FILE.py:NAME.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each record.")
def audit(
    files: tuple[str, ...], steps: tuple[int, int | None], pipeline: str | None, as_json: bool
) -> None:
    """Compare ledgers of training runs step by step, and find the first step that differs.

    Two runs saw the same data up to a step if they have the same digest there. For a single LEDGER,
    the command checks that it is undamaged and summarises it. With --pipeline, it also lists the
    file and record of every example in the steps, and checks these examples against the ledger.

    The exit code is 1 if the data differs or the ledgers have no step in common.
    """
    from headrace.cli.audit.compare import compare, summary  # noqa: PLC0415 (see commands.py)
    from headrace.cli.bench.program import pipeline_of  # noqa: PLC0415
    from headrace.cli.replay.ledger_steps import ledger_steps  # noqa: PLC0415

    begin, end = steps
    if pipeline is None:
        for file in files:
            click.echo(summary(file, begin, end))
        for other in files[1:]:
            click.echo(compare(files[0], other, begin, end))
        return
    if len(files) > 1:
        raise click.UsageError("--pipeline works with a single ledger. Pass only one.")
    for step, origins in ledger_steps(pipeline_of(pipeline), files[0], begin, end):
        if not as_json:
            click.echo(f"step {step}: {len(origins)} examples")
        for origin in origins:
            line = json.dumps({"step": step, **origin._asdict()})
            click.echo(line if as_json else f"  {origin}")
