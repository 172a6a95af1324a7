"""The series of scaling: the same work with more and more of something."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.comparison import Contender, Result, Scenario, compare
from benchmarks.pipelines import data, dataset, running
from benchmarks.pipelines.contenders import Program
from benchmarks.pipelines.workloads import WORKLOADS, Workload
from benchmarks.scaling.busy_consumer import WAYS

THREADS = [1, 2, 4, 8, 16]
CAPACITIES = [10, 100, 1_000, 10_000, 100_000]
ROOM = 16_384
"""The capacity while it is not what is varied."""

SCALED = [workload for workload in WORKLOADS if workload.name in ("W1", "W4", "W5")]
DRAINED = 5
"""How often as much is read as waits in a queue, so that its running empty counts little."""


@dataclass(frozen=True)
class Series:
    """Programs that differ in one figure.

    Attributes:
        title: Stands above the table.
        column: What the figure is.
        unit: What is counted.
        results: What was measured, for one program after the other.
    """

    title: str
    column: str
    unit: str
    results: Sequence[Result]


def threads(rounds: int, seconds: float) -> Iterator[Series]:
    """Threads that share one reader."""
    for workload in SCALED:
        title = f"{workload.name}: threads that share a reader, `shuffle_batch(num_threads=…)`"
        yield from _pipelines(workload, title, "threads", THREADS, rounds, seconds)


def readers(rounds: int, seconds: float) -> Iterator[Series]:
    """Threads with a reader each."""
    for workload in SCALED:
        title = f"{workload.name}: threads with a reader each, `shuffle_batch_join`"
        yield from _pipelines(workload, title, "readers", THREADS, rounds, seconds)


def capacity(rounds: int, seconds: float) -> Iterator[Series]:
    """Room in the queue, three quarters of it for shuffling."""
    for batch, capacities in ((4, CAPACITIES), (128, CAPACITIES[2:])):
        for workload in SCALED:
            title = f"{workload.name}: room in the queue, two threads, batches of {batch}"
            more = ["--threads", "2", "--batch", str(batch)]
            yield from _pipelines(workload, title, "capacity", capacities, rounds, seconds, more)


def disk(rounds: int, seconds: float) -> Iterator[Series]:
    """A disk that takes 10 ms for each read."""
    milliseconds, files = 10.0, 2 * THREADS[-1]
    blocks = math.ceil(seconds * 1e3 / milliseconds * 4 / files)
    arguments = ["--milliseconds", milliseconds, "--files", files, "--blocks", blocks]
    contenders = [
        _contender(str(number), "slow_disk", "--readers", number, *arguments) for number in THREADS
    ]
    title = f"Readers of a disk that takes {milliseconds:g} ms for each read of 256 lines"
    yield _series(title, "readers", "lines", contenders, rounds)


def consumer(rounds: int, seconds: float) -> Iterator[Series]:
    """A consumer that is busy for 90 % of its time."""
    if _has_data("consumer", "lines"):
        contenders = [_contender(way, "busy_consumer", way, "--seconds", seconds) for way in WAYS]
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
    """A program of `pipelines/scaled.py` for each value of one of its options."""
    if not _has_data(workload.name, workload.task):
        return
    room = [] if column == "capacity" else ["--capacity", str(ROOM)]
    most_waiting = values[-1] if column == "capacity" else ROOM
    part_count = dataset.parts_of(dataset.stem_of(workload.task))[0].count
    num_parts = math.ceil(DRAINED * most_waiting / part_count)
    workload = replace(workload, min_parts=max(workload.min_parts, num_parts))
    programs = [
        Program(
            key=str(value),
            title=f"{value:,}",
            source="scaled",
            environment=None,
            tasks=[workload.task],
            setting="",
            arguments=[f"--{column}", str(value), *room, *more],
        )
        for value in values
    ]
    results = running.run(workload, programs, rounds, seconds)
    yield Series(title, column, workload.unit, [result for result in results if result])


def _contender(name: str, module: str, *arguments: object) -> Contender:
    command = [sys.executable, "-m", f"benchmarks.scaling.{module}", *map(str, arguments)]
    return Contender(name.replace("-", " "), command)


def _series(
    title: str, column: str, unit: str, contenders: Sequence[Contender], rounds: int
) -> Series:
    [results] = compare([Scenario(title, contenders)], rounds)
    return Series(title, column, unit, results)


def _has_data(name: str, task: str) -> bool:
    try:
        data.ensure(dataset.stem_of(task))
    except data.MissingSourceError as error:
        print(f"{name} is skipped: {error}", file=sys.stderr)
        return False
    return True
