"""The limit: a process for each core calls the function in a loop, and results stay there.

Each result is put into a batch in fresh memory. Nothing is sent, shuffled or kept in order. A
function that releases the GIL runs like this, too: threads could not do more.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context

import numpy as np

from benchmarks.functions import work


def batches(function: Callable[[int], np.ndarray], numbers: range) -> Iterator[np.ndarray]:
    """Yields batches of the results for some numbers."""
    for begin in range(0, len(numbers), work.BATCH_SIZE):
        part = numbers[begin : begin + work.BATCH_SIZE]
        first = function(part[0])
        batch = np.empty((len(part), *first.shape), first.dtype)
        batch[0] = first
        for position, number in enumerate(part[1:], 1):
            batch[position] = function(number)
        yield batch


def run(name: str, numbers: range) -> tuple[int, float, float]:
    """Returns the number of results, and when they were begun and all there."""
    function = work.FUNCTIONS[name]
    function(0)  # imports what it needs
    begin = time.monotonic()
    total = sum(len(batch) for batch in batches(function, numbers))
    return total, begin, time.monotonic()


def main() -> None:
    """Prints a line of JSON; the command's arguments are those of `work.run`."""
    name, count = sys.argv[1], int(sys.argv[2])
    num_cores = len(os.sched_getaffinity(0))
    shares = [(name, range(core, count, num_cores)) for core in range(num_cores)]
    cpu_seconds = time.process_time()
    with get_context("fork").Pool(num_cores) as pool:
        totals, begins, ends = zip(*pool.starmap(run, shares, chunksize=1), strict=True)
    figures = {
        "count": sum(totals),
        "seconds": max(ends) - min(begins),
        "cpu_seconds_before": cpu_seconds,
    }
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
