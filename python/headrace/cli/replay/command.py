"""``headrace replay``: prints the origins of the examples of some training steps."""

from __future__ import annotations

import json

import click

__all__ = ["replay"]


@click.command(short_help="Print the records of the steps after a state, or of a step in a ledger.")
@click.argument("file", metavar="STATE|LEDGER")
@click.option(
    "--pipeline",
    required=True,
    metavar="MODULE:NAME",
    help="The pipeline, or a function that returns it, as MODULE:NAME or FILE.py:NAME.",
)
@click.option(
    "--batches",
    "count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of steps.",
)
@click.option(
    "--step", type=click.IntRange(min=0), help="Read a ledger, and print only this step of it."
)
@click.option(
    "--where", default=None, help="Which state to use if the file has several, such as data."
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each example.")
def replay(
    file: str, pipeline: str, count: int, step: int | None, where: str | None, as_json: bool
) -> None:
    """Print the file, record number and byte offset of each example in some training steps.

    STATE is a JSON file that contains the result of Batches.state(), alone or inside another value.
    Use "-" for stdin. The command prints the steps after the state. They run exactly as they would
    in training, so an error that happened there happens here, too.

    With --step, the file is a LEDGER of headrace.Ledger, and the command prints that step. The
    pipeline runs from the beginning of the epoch, and its digests are compared with the ledger.

    The exit code is 1 if the file contains no state or no such step, or if it belongs to another
    pipeline.
    """
    from headrace.cli.bench.program import pipeline_of  # noqa: PLC0415 (see commands.py)
    from headrace.cli.replay.ledger_steps import ledger_steps  # noqa: PLC0415
    from headrace.cli.replay.steps import state_in, steps  # noqa: PLC0415

    if step is None:
        state = state_in(file, where)
        replayed = steps(pipeline_of(pipeline), state, count)
    else:
        replayed = ledger_steps(pipeline_of(pipeline), file, step, step + 1)
    for number, origins in replayed:
        if not as_json:
            click.echo(f"step {number}: {len(origins)} examples")
        for origin in origins:
            if as_json:
                click.echo(json.dumps({"step": number, **origin._asdict()}))
            else:
                click.echo(f"  {origin}")
