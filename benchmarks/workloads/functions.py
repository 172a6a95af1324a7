"""W13: Python functions on single examples: one holds the GIL, the other releases it.

An example is a number. Results are uint8 or float32, (224, 224, 3): 150 KB or 600 KB.
`python -m benchmarks.workloads.functions COUNT FUNCTION` runs the limit.
"""

import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import MappedDataset, grain_reading, spdl_batches, torch_loader
from benchmarks.manual_loaders import cut
from benchmarks.workload import BY_HAND, LIMIT, Function, Program, Workload

BATCH_SIZE = 32
SECONDS = 200e-6
"""The time for which a function holds the GIL."""
NUM_WAITING = 6
"""The number of batches ahead in a hand-written pool."""
THREADS, PROCESSES = "headrace-threads", "headrace-processes"

IMAGE = np.random.default_rng(0).integers(0, 256, (224, 224, 3), np.uint8)
LARGE = np.random.default_rng(1).integers(0, 256, (448, 448, 3), np.uint8)


def holds(number: int) -> np.ndarray:
    """Returns an image, made by NumPy operations on small arrays, which hold the GIL."""
    end = time.thread_time() + SECONDS
    row = IMAGE[number % 224, :8].astype(np.int64)
    while time.thread_time() < end:
        row = row * 5 % 251
    return IMAGE + np.uint8(number % 8)


def holds_large(number: int) -> np.ndarray:
    """Returns the same image as floats."""
    return holds(number).astype(np.float32)


def releases(number: int) -> np.ndarray:
    """Returns an image that OpenCV has smoothed and resized without the GIL."""
    import cv2

    cv2.setNumThreads(1)
    smooth = cv2.GaussianBlur(LARGE, (5, 5), 0)
    small = cv2.resize(smooth, (224, 224), interpolation=cv2.INTER_LINEAR)
    return cv2.add(small, np.full_like(small, number % 8))


def releases_large(number: int) -> np.ndarray:
    """Returns the same image as floats."""
    return releases(number).astype(np.float32)


FUNCTIONS: dict[str, Callable[[int], np.ndarray]] = {
    function.__name__: function for function in (holds, holds_large, releases, releases_large)
}


def sums_of(dtype: Any, batch: Any) -> list[int]:
    """Counts images.

    Raises:
        ValueError: If the type or shape is wrong.
    """
    images = np.asarray(batch)
    if images.dtype != dtype or images.shape[1:] != (224, 224, 3):
        raise ValueError(f"{images.dtype} results of shape {images.shape}")
    return [len(images)]


def workload(task: str, title: str) -> Workload:
    """Returns the workload for a function. All of these workloads share their programs."""
    return Workload(
        __name__,
        "W13",
        task,
        title,
        "examples",
        partial(sums_of, np.float32 if task.endswith("large") else np.uint8),
        count=8_000,
        expected_rate=2_000,
        num_epochs=8_000,
        is_steady=True,
        variables={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        ours=THREADS if task.startswith("releases") else PROCESSES,
        programs=PROGRAMS,
    )


PROGRAMS: list[Program] = []
HOLDS = workload("holds", "A NumPy function of 200 µs that holds the GIL, results of 150 KB")
HOLDS_LARGE = workload(
    "holds_large", "A NumPy function of 200 µs that holds the GIL, results of 600 KB"
)
RELEASES = workload("releases", "An OpenCV function that releases the GIL, results of 150 KB")
RELEASES_LARGE = workload(
    "releases_large", "An OpenCV function that releases the GIL, results of 600 KB"
)


def program(*arguments: Any, **options: Any) -> Callable[[Function], Function]:
    """Adds a program, a function of a W13 function and a number of examples, to all workloads."""

    def add(batches: Function) -> Function:
        def called(task: Path, count: int, **more: Any) -> Iterable[Any]:
            return batches(FUNCTIONS[task.name], count, **more)

        HOLDS.program(*arguments, **options)(called)
        return batches

    return add


@program(PROCESSES, "headrace, two processes", "`map(f, num_processes=2)`", num_processes=2)
@program(THREADS, "headrace, two threads", "`map(f, num_threads=2)`", num_threads=2)
@program("headrace", "headrace", "`map(f)`: one thread")
def with_headrace(
    function: Callable[[int], np.ndarray], count: int, **options: int
) -> Iterator[np.ndarray]:
    import headrace as hr

    numbers = hr.arrays({"number": np.arange(count)})
    for batch in numbers.map(ExampleFunction(function), **options).batch(BATCH_SIZE):
        yield batch["image"]


class ExampleFunction:
    """A function of an example that worker processes import."""

    def __init__(self, function: Callable[[int], np.ndarray]) -> None:
        self._function = function

    def __call__(self, example: dict[str, int]) -> dict[str, np.ndarray]:
        return {"image": self._function(int(example["number"]))}


def batch_of(function: Callable[[int], np.ndarray], numbers: Sequence[int]) -> np.ndarray:
    """A pool task: returns the results for some numbers as a batch."""
    return np.stack([function(number) for number in numbers])


@program(BY_HAND, "a loop by hand", "one thread, `np.stack`", "numpy")
def by_hand(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    for numbers in cut(range(count), BATCH_SIZE):
        yield batch_of(function, numbers)


@program("alone-threads", "threads by hand", "`ThreadPoolExecutor(2)`, six batches wait", "numpy")
def with_thread_pool(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    with ThreadPoolExecutor(2) as pool:
        yield from pooled(pool, function, count)


@program(
    "alone-processes", "processes by hand", "`ProcessPoolExecutor(2)`, six batches wait", "numpy"
)
def with_process_pool(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield from pooled(pool, function, count)


def pooled(
    pool: Executor, function: Callable[[int], np.ndarray], count: int
) -> Iterator[np.ndarray]:
    """Yields batches in order, each made by a pool task."""
    waiting: deque[Any] = deque()
    for numbers in cut(range(count), BATCH_SIZE):
        waiting.append(pool.submit(batch_of, function, numbers))
        if len(waiting) == NUM_WAITING:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@program("torch", "PyTorch, two workers", "`DataLoader(num_workers=2, prefetch_factor=4)`", "torch")
def with_torch(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    import torch

    results = MappedDataset(lambda number: torch.from_numpy(function(number)), range(count))
    for batch in torch_loader(results, BATCH_SIZE, 2):
        yield batch.numpy()


@program("grain", "Grain, two workers", "`mp_prefetch`, two processes", "grain")
def with_grain(function: Callable[[int], np.ndarray], count: int) -> Iterable[Any]:
    import grain
    from absl import flags

    flags.FLAGS(["with_grain"])
    data = grain.MapDataset.range(count).map(function).batch(BATCH_SIZE)
    # Keep as many batches ahead as the other programs. With the default of 500, a run of a few
    # seconds would mainly measure the transfer of finished batches.
    reading = data.to_iter_dataset(grain_reading(4, num_threads=1))
    return reading.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))


@program("spdl", "SPDL, two threads", "`pipe(f, concurrency=2)`, in order", "spdl")
def with_spdl(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    return spdl_batches(range(count), function, BATCH_SIZE, np.stack, output_order="input")


PROGRAMS.append(
    Program(
        LIMIT,
        "limit of the machine",
        "a loop in a process for each core, results stay there",
        "numpy",
        command=["-m", "benchmarks.workloads.functions"],
    )
)


def share_of(name: str, numbers: range) -> tuple[int, float, float]:
    """Returns the number of results, and their start and end times."""
    function = FUNCTIONS[name]
    function(0)  # imports what it needs
    begin = time.monotonic()
    total = sum(len(batch) for batch in fresh_batches(function, numbers))
    return total, begin, time.monotonic()


def fresh_batches(function: Callable[[int], np.ndarray], numbers: range) -> Iterator[np.ndarray]:
    """Yields batches of the results for some numbers, in fresh memory."""
    for begin in range(0, len(numbers), BATCH_SIZE):
        part = numbers[begin : begin + BATCH_SIZE]
        first = function(part[0])
        batch = np.empty((len(part), *first.shape), first.dtype)
        batch[0] = first
        for position, number in enumerate(part[1:], 1):
            batch[position] = function(number)
        yield batch


def main() -> None:
    """Runs the limit: one process per core calls the function in a loop.

    Nothing is sent, shuffled or ordered. Functions that release the GIL also run in processes,
    because threads could not be faster.
    """
    count, name = int(sys.argv[1]), sys.argv[2]
    num_cores = len(os.sched_getaffinity(0))
    shares = [(name, range(core, count, num_cores)) for core in range(num_cores)]
    cpu_seconds = time.process_time()
    with get_context("fork").Pool(num_cores) as pool:
        totals, begins, ends = zip(*pool.starmap(share_of, shares, chunksize=1), strict=True)
    figures = {
        "count": sum(totals),
        "sums": [],
        "seconds": max(ends) - min(begins),
        "cpu_seconds_before": cpu_seconds,
    }
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
