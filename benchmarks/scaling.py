"""Varies threads, capacities, disks and consumers: `python -m benchmarks.scaling`."""

import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from benchmarks import dataset, runner
from benchmarks.comparison import Contender, Result, Scenario, compare, describe_machine
from benchmarks.report import HOME
from benchmarks.scaling_programs import WAYS, WORKLOADS
from benchmarks.workload import Program, Workload

THREADS = [1, 2, 4, 8, 16]
CAPACITIES = [10, 100, 1_000, 10_000, 100_000]
ROOM = 16_384
"""The capacity, unless it is the varied parameter."""

DRAINED = 5
"""The amount to read in multiples of the queue's capacity, so that draining it matters little."""


@dataclass(frozen=True)
class Series:
    """Measurements that differ in one parameter.

    Attributes:
        title: The heading of the table.
        column: The column title for the parameter.
        unit: The unit of the rate.
        results: The results for each value of the parameter.
    """

    title: str
    column: str
    unit: str
    results: Sequence[Result]


def threads(rounds: int, seconds: float) -> Iterator[Series]:
    """Threads that share one reader."""
    for workload in WORKLOADS.values():
        title = f"{workload.name}: threads that share a reader, `shuffle_batch(num_threads=…)`"
        yield from _pipelines(workload, title, "threads", THREADS, rounds, seconds)


def readers(rounds: int, seconds: float) -> Iterator[Series]:
    """Threads with one reader each."""
    for workload in WORKLOADS.values():
        title = f"{workload.name}: threads with a reader each, `shuffle_batch_join`"
        yield from _pipelines(workload, title, "readers", THREADS, rounds, seconds)


def capacity(rounds: int, seconds: float) -> Iterator[Series]:
    """Queue capacities. Three quarters of each are for shuffling."""
    for batch, capacities in ((4, CAPACITIES), (128, CAPACITIES[2:])):
        for workload in WORKLOADS.values():
            title = f"{workload.name}: room in the queue, two threads, batches of {batch}"
            more = ["--threads", "2", "--batch", str(batch)]
            yield from _pipelines(workload, title, "capacity", capacities, rounds, seconds, more)


def disk(rounds: int, seconds: float) -> Iterator[Series]:
    """A disk that needs 10 ms for each read."""
    milliseconds, files = 10.0, 2 * THREADS[-1]
    blocks = math.ceil(seconds * 1e3 / milliseconds * 4 / files)
    arguments = ["--milliseconds", milliseconds, "--files", files, "--blocks", blocks]
    contenders = [
        _contender(str(number), "disk", "--readers", number, *arguments) for number in THREADS
    ]
    title = f"Readers of a disk that takes {milliseconds:g} ms for each read of 256 lines"
    yield _series(title, "readers", "lines", contenders, rounds)


def consumer(rounds: int, seconds: float) -> Iterator[Series]:
    """A consumer that is busy for 90 % of its time."""
    contenders = [_contender(way, "consumer", way, "--seconds", seconds) for way in WAYS]
    title = "One reader, and a consumer that is busy 90 % of its time"
    yield _series(title, "the consumer", "lines", contenders, rounds)


SERIES: dict[str, Callable[[int, float], Iterator[Series]]] = {
    "threads": threads,
    "readers": readers,
    "capacity": capacity,
    "disk": disk,
    "consumer": consumer,
}


def _pipelines(
    workload: Workload,
    title: str,
    column: str,
    values: Sequence[int],
    rounds: int,
    seconds: float,
    more: Sequence[str] = (),
) -> Iterator[Series]:
    """The program `queues` with each value of one of its options."""
    room = [] if column == "capacity" else ["--capacity", str(ROOM)]
    most_waiting = values[-1] if column == "capacity" else ROOM
    _, parts = dataset.ensure(workload)
    num_parts = math.ceil(DRAINED * most_waiting / parts[0].count)
    workload = replace(workload, min_parts=max(workload.min_parts, num_parts))
    name = workload.module.rpartition(".")[2]
    ours = ["-m", "benchmarks.scaling_programs", "queues", name]
    programs = [
        Program(
            str(value), f"{value:,}", "", command=[*ours, f"--{column}", str(value), *room, *more]
        )
        for value in values
    ]
    results = runner.sized(workload, programs, rounds, seconds)
    yield Series(title, column, workload.unit, list(results.values()))


def _contender(name: str, *arguments: object) -> Contender:
    command = [sys.executable, "-m", "benchmarks.scaling_programs", *map(str, arguments)]
    return Contender(name.replace("-", " "), command)


def _series(
    title: str, column: str, unit: str, contenders: Sequence[Contender], rounds: int
) -> Series:
    [results] = compare([Scenario(title, contenders)], rounds)
    return Series(title, column, unit, results)


def table_of(series: Series) -> str:
    """Returns a Markdown table: medians, and ratios to the first row."""
    lines = [
        f"### {series.title}",
        "",
        f"| {series.column} | {series.unit}/s | spread | ÷ first | CPU µs each | ÷ first |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    first = next((result for result in series.results if result.rates), None)
    for result in series.results:
        name = result.contender.name
        if first is None or not result.rates:
            lines.append(f"| {name} | failed: {result.failure} | | | | |")
            continue
        cpu_us, first_cpu_us = (statistics.median(each.cpu_us) for each in (result, first))
        cells = [
            name,
            f"{result.rate:,.0f}",
            f"{result.spread:.0%}",
            f"{result.rate / first.rate:.2f}",
            f"{cpu_us:.3g}",
            f"{cpu_us / first_cpu_us:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def write(machine: str, tables: list[str]) -> Path:
    """Writes all tables to one file, next to the other benchmarks' tables."""
    HOME.mkdir(exist_ok=True)
    path = HOME / "scaling.md"
    path.write_text("\n".join([f"# Scaling\n\n{machine}\n", *tables]))
    return path


@click.command()
@click.argument("names", nargs=-1, metavar="[SERIES]...", type=click.Choice(list(SERIES)))
@click.option("--rounds", default=3, show_default=True, help="How often each program runs.")
@click.option("--seconds", default=2.0, show_default=True, help="About how long each run lasts.")
def main(names: Sequence[str], rounds: int, seconds: float) -> None:
    """Measures how costs change in each SERIES, or in all of them.

    The series are: threads that share a reader, readers with one thread each, queue capacities,
    readers of a slow disk, and a consumer that holds the GIL. Writes benchmarks/results/scaling.md.
    """
    machine = f"{describe_machine()}; medians of {rounds} rounds in turn."
    print(f"{machine}\n", flush=True)
    tables = []
    for name in names or SERIES:
        for series in SERIES[name](rounds, seconds):
            tables.append(table_of(series))
            print(tables[-1], flush=True)
    print(f"written to {write(machine, tables)}")


if __name__ == "__main__":
    main()
