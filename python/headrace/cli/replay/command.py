"""``headrace replay``: prints the origins of the examples in the steps after a state."""

from __future__ import annotations

import json

import click

__all__ = ["replay"]


@click.command(short_help="Print the records of the steps after a state.")
@click.argument("file", metavar="STATE")
@click.option(
    "--pipeline",
    required=True,
    metavar="MODULE:NAME",
    help="The pipeline, or a function that returns it: module:name or FILE.py:name.",
)
@click.option("--batches", "count", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--where", default=None, help="Key of the state, if the file has several, such as data."
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each example.")
def replay(file: str, pipeline: str, count: int, where: str | None, as_json: bool) -> None:
    """Prints the file, record number and offset of every example in the steps after a state.

    STATE is a JSON file: the result of Batches.state(), or a document that contains one; "-" is
    stdin. The steps run as in training, so errors that occurred there occur here too.

    The exit code is 1 if the file has no state or the state does not fit the pipeline.
    """
    from headrace.cli.bench.program import pipeline_of  # noqa: PLC0415 (see commands.py)
    from headrace.cli.replay.steps import state_in, steps  # noqa: PLC0415

    state = state_in(file, where)
    for number, origins in steps(pipeline_of(pipeline), state, count):
        if not as_json:
            click.echo(f"step {number}: {len(origins)} examples")
        for origin in origins:
            if as_json:
                click.echo(json.dumps({"step": number, **origin._asdict()}))
            else:
                click.echo(f"  {origin}")
