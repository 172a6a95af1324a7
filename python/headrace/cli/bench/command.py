"""``headrace bench``: a pipeline's speed and bottleneck."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from headrace.cli.wording import count_of, echo_json, percent, seconds, size, table

if TYPE_CHECKING:
    from headrace.cli.bench.measure import Measurements

__all__ = ["bench"]


@click.command(short_help="Measure a pipeline and name its bottleneck.")
@click.argument("program", metavar="FILE.py:NAME")
@click.option(
    "--seconds",
    "most_seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Stop after this many seconds, or at the end of the data.",
)
@click.option("--batches", type=click.IntRange(min=1), help="Stop after this many batches.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def bench(program: str, most_seconds: float, batches: int | None, as_json: bool) -> None:
    """Measure the speed of a pipeline and name its bottleneck.

    NAME is a pipeline in the program FILE.py, or a function that returns one.

    The command also measures how fast the same number of threads can read the same files if they do
    nothing else. The result shows this speed as the limit.

    The exit code is 1 if the program or the pipeline fails.
    """
    from headrace.cli.bench.measure import measured  # noqa: PLC0415 (see commands.py)
    from headrace.cli.bench.program import pipeline_of  # noqa: PLC0415
    from headrace.cli.failures import Failure, failure_of  # noqa: PLC0415

    pipe = pipeline_of(program)
    try:
        measurements = measured(pipe, most_seconds, batches)
    except Exception as error:
        if isinstance(error, click.ClickException) or failure_of(error):
            raise
        notes = " ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        raise Failure(f"{program}: {notes}") from error
    if as_json:
        echo_json({"pipeline": program, **measurements.as_json()})
        return
    click.echo(program)
    for line in _lines(measurements):
        click.echo(f"  {line}")


def _lines(measurements: Measurements) -> Iterator[str]:
    batches = (
        f"{count_of(measurements.num_batches, 'batch', 'batches')}, "
        if measurements.num_batches
        else ""
    )
    end = (
        "until the end of the data"
        if measurements.has_ended
        else "stopped before the end of the data"
    )
    examples = count_of(measurements.num_examples, "example")
    yield f"{batches}{examples} in {seconds(measurements.seconds)}, {end}"
    yield f"first result after {seconds(measurements.first_seconds)}"
    yield f"rate: {measurements.examples_per_second:,.0f} examples/s"
    if measurements.bytes_per_second is not None:
        yield f"read rate: {size(measurements.bytes_per_second)}/s"
    if measurements.limit is not None:
        threads = count_of(measurements.limit.num_threads, "thread")
        rate = size(measurements.limit.bytes_per_second)
        yield f"limit: {rate}/s for plain reads of the same files with {threads}"
    if measurements.share is not None:
        yield f"share of the limit: {percent(measurements.share)}"
    else:
        yield f"share of the limit: unknown, because {measurements.why_no_bytes}"
    if measurements.mixing is not None:
        first = count_of(measurements.mixing.num_examples, "example")
        of_files = count_of(measurements.mixing.of_files, "file")
        yield f"mixing: the first {first} come from {measurements.mixing.num_files:,} of {of_files}"
    yield f"bottleneck: {measurements.bottleneck}"
    header = ("stage", "examples", "output", "busy", "waiting", "full")
    rows = [
        (
            stage.name,
            f"{stage.examples:,}",
            size(stage.bytes) if stage.bytes else "",
            seconds(stage.busy_seconds),
            seconds(stage.waiting_seconds),
            "" if stage.fill is None else percent(stage.fill),
        )
        for stage in measurements.statistics.stages
    ]
    yield from table([header, *rows], "")
