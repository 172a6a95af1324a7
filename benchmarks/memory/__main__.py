"""Measures the memory use of queues, long runs and pipelines: `python -m benchmarks.memory`."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import click

from benchmarks import process
from benchmarks.comparison import describe_machine
from benchmarks.memory import pipelines, queues
from benchmarks.report import HOME

TIMEOUT = 600.0

MEMORY_MIB = (16, 64, 0)
"""The `memory_bytes` of the measured pipelines. 0 for the default."""


@click.command()
@click.option("--mib", default=32, show_default=True, help="How many records wait in a queue.")
@click.option("--count", default=10_000_000, show_default=True, help="How long the runs are.")
@click.option("--seconds", default=3.0, show_default=True, help="How long each pipeline runs.")
@click.option("--only-pipelines", is_flag=True, help="Leave queues and long runs out.")
def main(mib: int, count: int, seconds: float, only_pipelines: bool) -> None:
    """Measures how much memory queues, long runs and pipelines use.

    Writes benchmarks/results/memory.md. Takes a few minutes.
    """
    lines = [f"# Memory\n\n{describe_machine()}.\n"]
    tables = (
        []
        if only_pipelines
        else [table_of_queues(mib), iter([""]), table_of_runs(count), iter([""])]
    )
    for line in chain(*tables, table_of_pipelines(seconds)):
        lines.append(line)
        print(line, flush=True)
    HOME.mkdir(exist_ok=True)
    path = HOME / "memory.md"
    path.write_text("\n".join([*lines, ""]))
    print(f"written to {path}")


def table_of_queues(mib: int) -> Iterator[str]:
    """Yields the lines of a table: the growth of the process divided by the size of the records.

    The last column also includes freed memory that the allocator keeps for a second, or until its
    next check.
    """
    yield f"What {mib} MiB of records take in a queue, for each of their bytes:"
    yield ""
    yield "| records | one at a time | many at a time | with what the allocator keeps |"
    yield "|---|--:|--:|--:|"
    for kind in queues.KINDS:
        cells = [kind]
        for way, variables in (("one", queues.HELD), ("many", queues.HELD), ("many", {})):
            arguments = ("fill", kind, way, "--mib", str(mib))
            figures = _figures(*arguments, variables=variables)
            ratio = figures["grown_bytes"] / (figures["count"] * figures["record_bytes"])
            cells.append(f"{ratio:.2f}")
        yield f"| {' | '.join(cells)} |"


def table_of_runs(count: int) -> Iterator[str]:
    """Yields the lines of a table: the memory soon after the start of a run, and at its end."""
    yield f"Heaps and stacks of a run of {count:,} examples (best programs of W5 and W1), MiB:"
    yield ""
    yield "| | after 100,000 | at the end | the most |"
    yield "|---|--:|--:|--:|"
    for name in queues.PROGRAMS:
        figures = _figures("last", name, "--count", str(count))
        cells = [f"{figures[f'{when}_bytes'] / 2**20:.1f}" for when in ("soon", "end", "most")]
        yield f"| {name} | {' | '.join(cells)} |"


def table_of_pipelines(seconds: float) -> Iterator[str]:
    """Yields the lines of a table: the growth of the process for several `memory_bytes`."""
    yield "By how many MiB a pipeline makes its process grow, for some `memory_bytes`:"
    yield ""
    yield "| pipeline | window | a batch | 16 MiB | 64 MiB | default |"
    yield "|---|--:|--:|--:|--:|--:|"
    for case, (_, windows) in pipelines.CASES.items():
        for window in windows:
            grown = [pipelines.measure(case, window, mib << 20, seconds) for mib in MEMORY_MIB]
            batch = max(growth.batch_bytes for growth in grown) / 2**20
            cells = [case, f"{window:,}" if window else "", f"{batch:.2f}"]
            cells += [_cell(growth, mib) for growth, mib in zip(grown, MEMORY_MIB, strict=True)]
            yield f"| {' | '.join(cells)} |"


def _cell(growth: pipelines.Growth, mib: int) -> str:
    """The MiB that a pipeline used (bold if too many), or what a rejected window needs."""
    if growth.error:
        needed = re.search(r"needs about (\d+) bytes", growth.error)
        return f"needs {int(needed[1]) / 2**20:.0f}" if needed else growth.error
    mebibytes = f"{growth.most_bytes / 2**20:.1f}"
    is_over = mib and growth.most_bytes > growth.allowed_bytes(mib << 20)
    return f"**{mebibytes}**" if is_over else mebibytes


def _figures(*arguments: str, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the measurements that a program prints."""
    command = [sys.executable, "-m", "benchmarks.memory.queues", *arguments]
    run = process.run(command, TIMEOUT, variables)
    if run.failure:
        raise click.ClickException(run.failure)
    figures: dict[str, Any] = json.loads(run.output)
    return figures


if __name__ == "__main__":
    main()
