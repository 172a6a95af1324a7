"""The work of every benchmark program with its batches: it takes, adds up and times them."""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence

from benchmarks.pipelines import dataset
from benchmarks.pipelines.checksums import CHECKSUMS, Batch


class Meter:
    """Counts, adds up and times batches."""

    def __init__(self, task: str) -> None:
        self._checksum = CHECKSUMS[task]
        self._sums: list[int] = []
        self._count = 0
        self._begin = 0.0
        self._marks: list[tuple[float, int]] = []
        self._cpu_seconds = 0.0

    def begin(self) -> None:
        """Starts the clock: what was imported and described before does not count."""
        self._cpu_seconds = time.process_time()
        self._begin = time.monotonic()

    def take(self, batch: Batch) -> None:
        """Adds a batch."""
        count, sums = self._checksum(batch)
        self._count += count
        self._marks.append((time.monotonic(), self._count))
        self._sums = [a + b for a, b in zip(self._sums or [0] * len(sums), sums, strict=True)]

    def report(self) -> None:
        """Prints a line of JSON."""
        figures = {
            "count": self._count,
            "sums": self._sums,
            "seconds": self._marks[-1][0] - self._begin,
            "rate": steady_rate(self._marks),
            "cpu_seconds_before": self._cpu_seconds,
            "first_batch_at": self._marks[0][0],
        }
        print(json.dumps(figures), flush=True)


def steady_rate(marks: Sequence[tuple[float, int]]) -> float | None:
    """Returns examples a second, without how a program begins and how its queues run empty.

    Args:
        marks: After each batch the time and the number of examples so far.

    Returns:
        The rate from the first fifth of the batches to the last; None for less than ten batches.
    """
    if len(marks) < 10:
        return None
    (begin, count_before), (end, count) = marks[len(marks) // 5], marks[len(marks) * 4 // 5]
    return (count - count_before) / (end - begin)


def parse_arguments() -> argparse.Namespace:
    """Returns the arguments that every program has: `task`, `files`, `epochs`, `tensorflow`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=CHECKSUMS)
    parser.add_argument("--parts", type=int, default=0, help="How much to read; 0 for all, once.")
    parser.add_argument("--tensorflow", action="store_true", help="Run under TensorFlow.")
    # A program may have options of its own.
    arguments, _ = parser.parse_known_args()
    stem = dataset.stem_of(arguments.task)
    parts = dataset.parts_of(stem)
    selection = dataset.select(stem, parts, arguments.parts or len(parts))
    arguments.files, arguments.epochs = selection.files, selection.num_epochs
    return arguments


def run(make: Callable[[str, list[str], int], Iterable[Batch]]) -> None:
    """Takes all batches of an iterable, made of a task, files and a number of epochs."""
    arguments = parse_arguments()
    meter = Meter(arguments.task)
    batches = make(arguments.task, arguments.files, arguments.epochs)
    meter.begin()
    for batch in batches:
        meter.take(batch)
    meter.report()
