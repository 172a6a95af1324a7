"""W17: Python functions on pictures in worker processes: pure Python and NumPy.

Both functions hold the GIL. A picture is uint8, (64, 64, 3), and its result is a number or a
picture of floats, so that little data is sent between processes.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import PREFETCH, grain_reading, torch_loader
from benchmarks.manual_loaders import cut
from benchmarks.workload import BY_HAND, Function, Program, Workload

BATCH_SIZE = 64
NUM_PICTURES = 2_000
NUM_WORKERS = 2
SIDE = 64
PYTHON_LOOPS, NUMPY_LOOPS = 2_600, 11
"""These numbers of iterations take a CPU from 2026 about 300 and 400 µs."""
ALONE = "loop"

Picture = np.ndarray
PictureFunction = Callable[[Picture, np.random.Generator], np.ndarray]


def pictures() -> np.ndarray:
    """Returns pictures: uint8, (n, 64, 64, 3)."""
    return np.random.default_rng(0).integers(0, 256, (NUM_PICTURES, SIDE, SIDE, 3), np.uint8)


def counted(picture: Picture, generator: np.random.Generator) -> np.ndarray:
    """Returns how many distinct numbers a pure Python loop visits: float32, ()."""
    number = int(picture[0, 0, 0]) + int(generator.integers(256))
    seen = set()
    for step in range(PYTHON_LOOPS):
        number = (number * 75 + step) % 65_537
        seen.add(number)
    return np.float32(len(seen))


def augmented(picture: Picture, generator: np.random.Generator) -> np.ndarray:
    """Returns a part of a picture, smoothed repeatedly: float32, (32, 32, 3)."""
    top, left = generator.integers(0, SIDE // 2, 2)
    part = picture[top : top + SIDE // 2, left : left + SIDE // 2].astype(np.float32)
    for _ in range(NUMPY_LOOPS):
        part = (part + np.roll(part, 1, 0) + np.roll(part, 1, 1)) / 3
    return (part - part.mean()) / (part.std() + 1e-6)


FUNCTIONS: dict[str, PictureFunction] = {
    function.__name__: function for function in (counted, augmented)
}
SHAPES = {"counted": (), "augmented": (SIDE // 2, SIDE // 2, 3)}


def sums_of(shape: tuple[int, ...], batch: Any) -> list[int]:
    """Counts results.

    Raises:
        ValueError: If the type or shape is wrong.
    """
    results = np.asarray(batch)
    if results.dtype != np.float32 or results.shape[1:] != shape:
        raise ValueError(f"{results.dtype} results of shape {results.shape}")
    return [len(results)]


def workload(task: str, title: str) -> Workload:
    """Returns the workload for a function. All workloads have the same programs."""
    return Workload(
        __name__,
        "W17",
        task,
        title,
        "examples",
        partial(sums_of, SHAPES[task]),
        count=8_000,
        expected_rate=3_000,
        num_epochs=8_000,
        is_steady=True,
        variables={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        programs=PROGRAMS,
    )


PROGRAMS: list[Program] = []
PYTHON = workload("counted", "300 µs of pure Python for a picture of 12 KB, two processes")
NUMPY = workload("augmented", "400 µs of NumPy for a picture of 12 KB, two processes")


def program(*arguments: Any, **options: Any) -> Callable[[Function], Function]:
    """Adds a program, a function of a W17 function and a number of examples, to both workloads."""

    def add(batches: Function) -> Function:
        def called(task: Path, count: int, **more: Any) -> Any:
            return batches(FUNCTIONS[task.name], count, **more)

        PYTHON.program(*arguments, **options)(called)
        return batches

    return add


class ExampleFunction:
    """A function of an example that worker processes import."""

    def __init__(self, function: PictureFunction) -> None:
        self._function = function

    def __call__(self, example: dict[str, Any], rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"result": self._function(example["picture"], rng)}


@program("headrace", "headrace", "`map(f, num_processes=2)`", num_processes=NUM_WORKERS)
@program("headrace-thread", "headrace, one thread", "`map(f)`")
def with_headrace(function: PictureFunction, count: int, **options: int) -> Iterator[np.ndarray]:
    import headrace as hr

    data = hr.arrays({"picture": pictures()}).shuffle(seed=1).epochs().take(count)
    for batch in data.map(ExampleFunction(function), seed=3, **options).batch(BATCH_SIZE):
        yield batch["result"]


def indices(count: int) -> Iterator[np.ndarray]:
    """Yields the picture indices of each batch. Each epoch has a different order."""
    orders = (np.random.default_rng(seed).permutation(NUM_PICTURES) for seed in itertools.count())
    places = np.fromiter(
        itertools.islice(itertools.chain.from_iterable(orders), count), np.int64, count
    )
    return cut(places, BATCH_SIZE)


@program(ALONE, "a loop by hand", "one process", "numpy")
def by_hand(function: PictureFunction, count: int) -> Iterator[np.ndarray]:
    held, generator = pictures(), np.random.default_rng(3)
    for places in indices(count):
        yield np.stack([function(held[place], generator) for place in places])


class _Pool:
    """The data in a pool process."""

    pictures: np.ndarray


def hold_pictures() -> None:
    """Makes the pictures in a pool process, so that they need not be sent."""
    _Pool.pictures = pictures()


def results_of(name: str, places: np.ndarray, seed: int) -> np.ndarray:
    """Returns the results for some pictures in a pool process."""
    generator = np.random.default_rng(seed)
    function = FUNCTIONS[name]
    return np.stack([function(_Pool.pictures[place], generator) for place in places])


@program(
    BY_HAND,
    "`ProcessPoolExecutor` by hand",
    "two processes that hold the pictures; a task is a batch, six wait",
    "numpy",
)
def with_pool(function: PictureFunction, count: int) -> Iterator[np.ndarray]:
    waiting: deque[Any] = deque()
    # The CPU time of a fork server's processes would not be counted.
    with ProcessPoolExecutor(NUM_WORKERS, get_context("spawn"), hold_pictures) as pool:
        for seed, places in enumerate(indices(count)):
            waiting.append(pool.submit(results_of, function.__name__, places, seed))
            if len(waiting) == 3 * NUM_WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class Results:
    """The result for each picture, indexed by number. Every epoch returns the same results."""

    def __init__(self, function: PictureFunction, count: int) -> None:
        self._function = function
        self._count = count
        self._pictures = pictures()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> np.ndarray:
        generator = np.random.default_rng(int(number))
        return self._function(self._pictures[number % NUM_PICTURES], generator)


@program("torch", "PyTorch, two workers", "`DataLoader(num_workers=2, prefetch_factor=4)`", "torch")
def with_torch(function: PictureFunction, count: int) -> Iterator[np.ndarray]:
    results = Results(function, count)
    for batch in torch_loader(results, BATCH_SIZE, NUM_WORKERS, shuffle=True):
        yield batch.numpy()


@program("grain", "Grain, two workers", "`mp_prefetch`, two processes", "grain")
def with_grain(function: PictureFunction, count: int) -> Iterator[np.ndarray]:
    import grain
    from absl import flags

    flags.FLAGS(["with_grain"])
    data = grain.MapDataset.source(Results(function, count)).shuffle(seed=1).batch(BATCH_SIZE)
    reading = data.to_iter_dataset(grain_reading(PREFETCH, num_threads=1))
    yield from reading.mp_prefetch(grain.MultiprocessingOptions(num_workers=NUM_WORKERS))
