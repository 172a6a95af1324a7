"""``headrace replay``: prints the examples of the steps that follow a state."""

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
    """Prints the file, the record and the byte of every example of the steps that follow a state.

    STATE is JSON: a state of Batches.state(), or anything that has one somewhere in it; "-" is
    stdin. The steps are made as they would be in training, so that what failed there fails here.

    Exits with 1 if there is no state in the file, or it is not one of the pipeline.
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
