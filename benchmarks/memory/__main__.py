"""Measures the memory of queues and of long runs: `python -m benchmarks.memory`."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from benchmarks import process
from benchmarks.comparison import describe_machine
from benchmarks.memory import lasting, waiting
from benchmarks.pipelines import data, dataset
from benchmarks.pipelines.report import HOME

TIMEOUT = 600.0


@click.command()
@click.option("--mib", default=32, show_default=True, help="How many records wait in a queue.")
@click.option("--count", default=10_000_000, show_default=True, help="How long the runs are.")
def main(mib: int, count: int) -> None:
    """Measures how much memory records take that wait in a queue, and how it grows in long runs.

    Writes benchmarks/results/memory.md. Takes a few minutes.
    """
    lines = [f"# Memory\n\n{describe_machine()}.\n"]
    for line in [*table_of_queues(mib), "", *table_of_runs(count)]:
        lines.append(line)
        print(line, flush=True)
    HOME.mkdir(exist_ok=True)
    path = HOME / "memory.md"
    path.write_text("\n".join([*lines, ""]))
    print(f"written to {path}")


def table_of_queues(mib: int) -> Iterator[str]:
    """Yields the lines of a table: growth of the process, divided by the records' bytes.

    The last column is what was freed, too, but is kept by the allocator: for a second, or until it
    looks again.
    """
    yield f"What {mib} MiB of records take in a queue, for each of their bytes:"
    yield ""
    yield "| records | one at a time | many at a time | with what the allocator keeps |"
    yield "|---|--:|--:|--:|"
    for kind in waiting.KINDS:
        cells = [kind]
        for way, variables in (("one", waiting.HELD), ("many", waiting.HELD), ("many", {})):
            arguments = (kind, way, "--mib", str(mib))
            figures = _figures("waiting", *arguments, variables=variables)
            ratio = figures["grown_bytes"] / (figures["count"] * figures["record_bytes"])
            cells.append(f"{ratio:.2f}")
        yield f"| {' | '.join(cells)} |"


def table_of_runs(count: int) -> Iterator[str]:
    """Yields the lines of a table: memory soon after the begin of a run, and at its end."""
    yield f"Heaps and stacks of a run of {count:,} examples (best programs of W5 and W1), MiB:"
    yield ""
    yield "| | after 100,000 | at the end | the most |"
    yield "|---|--:|--:|--:|"
    for task in lasting.TASKS:
        try:
            data.ensure(task)
        except data.MissingSourceError as error:
            print(f"{task} are left out: {error}", file=sys.stderr)
            continue
        parts = dataset.parts_of(task)
        files = dataset.select(task, parts, len(parts)).files
        figures = _figures("lasting", task, *files, "--count", str(count))
        cells = [f"{figures[f'{when}_bytes'] / 2**20:.1f}" for when in ("soon", "end", "most")]
        yield f"| {task} | {' | '.join(cells)} |"


def _figures(
    program: str, *arguments: str, variables: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What a program prints."""
    command = [sys.executable, "-m", f"benchmarks.memory.{program}", *arguments]
    run = process.run(command, TIMEOUT, variables)
    if run.failure:
        raise click.ClickException(run.failure)
    figures: dict[str, Any] = json.loads(run.output)
    return figures


if __name__ == "__main__":
    main()
