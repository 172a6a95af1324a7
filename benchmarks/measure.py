"""Runs one program and prints its measurements as a line of JSON.

`python -m benchmarks.measure MODULE TASK KEY NUM_EPOCHS PATH...`: the paths are files, a data
directory, or a task without data. For example, to profile a program: `python -m benchmarks.measure
parquet_rows rows headrace 3 .bench/data/rows-2000000`.
"""

import json
import sys
import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.workload import Program, Workload


def find(module: str, task: str, key: str) -> tuple[Workload, Program]:
    """Returns a workload from a module of `benchmarks.workloads`, and one of its programs."""
    members = vars(import_module(f"benchmarks.workloads.{module}")).values()
    workloads = [each for each in members if isinstance(each, Workload) and each.task == task]
    [program] = [program for program in workloads[0].programs if program.key == key]
    return workloads[0], program


def batches_of(
    workload: Workload, program: Program, paths: Sequence[str], num_epochs: int
) -> Iterable[Any]:
    """Imports a program's libraries, then returns its batches."""
    assert program.function is not None
    for name in program.imports:
        import_module(name)
    source = list(paths) if workload.num_epochs is None else Path(paths[0])
    return program.function(source, num_epochs, **program.options)


def measure(workload: Workload, batches: Iterable[Any]) -> None:
    """Takes all batches, and prints the time, the CPU time, the count and the sums.

    The time is measured from the first request to the last batch. Importing modules, building the
    pipeline and loading data into memory beforehand do not count.
    """
    cpu_seconds = time.process_time()
    begin = time.monotonic()
    marks: list[tuple[float, int]] = []
    totals: list[int] = []
    for batch in batches:
        sums = workload.sums_of(batch)
        totals = [a + b for a, b in zip(totals or [0] * len(sums), sums, strict=True)]
        marks.append((time.monotonic(), totals[0]))
    figures = {
        "count": totals[0],
        "sums": totals[1:],
        "seconds": marks[-1][0] - begin,
        "rate": steady_rate(marks) if workload.is_steady else None,
        "cpu_seconds_before": cpu_seconds,
        "first_batch_at": marks[0][0],
    }
    print(json.dumps(figures), flush=True)


def steady_rate(marks: Sequence[tuple[float, int]]) -> float | None:
    """Returns the examples per second, excluding a program's start and the draining of its queues.

    Args:
        marks: The time and the number of examples so far, after each batch.

    Returns:
        The rate between the first and the last fifth of the batches. None for fewer than ten
        batches.
    """
    if len(marks) < 10:
        return None
    (begin, count_before), (end, count) = marks[len(marks) // 5], marks[len(marks) * 4 // 5]
    return (count - count_before) / (end - begin)


def main() -> None:
    module, task, key, num_epochs, *paths = sys.argv[1:]
    workload, program = find(module, task, key)
    measure(workload, batches_of(workload, program, paths, int(num_epochs)))


if __name__ == "__main__":
    main()
