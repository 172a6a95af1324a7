"""The functions that each library calls for an example, and what a program does with batches.

An example is a number. Results are uint8 or float32, (224, 224, 3): 150 KB or 600 KB.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks.pipelines.consume import steady_rate

BATCH_SIZE = 32
SECONDS = 200e-6
"""How long a function holds the GIL."""

IMAGE = np.random.default_rng(0).integers(0, 256, (224, 224, 3), np.uint8)
LARGE = np.random.default_rng(1).integers(0, 256, (448, 448, 3), np.uint8)


def holds(number: int) -> np.ndarray:
    """Returns an image after NumPy's operations on small arrays, which hold the GIL."""
    end = time.thread_time() + SECONDS
    row = IMAGE[number % 224, :8].astype(np.int64)
    while time.thread_time() < end:
        row = row * 5 % 251
    return IMAGE + np.uint8(number % 8)


def holds_large(number: int) -> np.ndarray:
    """Returns the same as floats."""
    return holds(number).astype(np.float32)


def releases(number: int) -> np.ndarray:
    """Returns an image that OpenCV has smoothed and resized, without the GIL."""
    import cv2  # noqa: PLC0415  (Functions that hold the GIL need none.)

    cv2.setNumThreads(1)
    smooth = cv2.GaussianBlur(LARGE, (5, 5), 0)
    small = cv2.resize(smooth, (224, 224), interpolation=cv2.INTER_LINEAR)
    return cv2.add(small, np.full_like(small, number % 8))


def releases_large(number: int) -> np.ndarray:
    """Returns the same as floats."""
    return releases(number).astype(np.float32)


FUNCTIONS: dict[str, Callable[[int], np.ndarray]] = {
    function.__name__: function for function in (holds, holds_large, releases, releases_large)
}


def run(make: Callable[[Callable[[int], np.ndarray], int], Iterable[Any]]) -> None:
    """Takes all batches of a program and prints a line of JSON.

    The command's arguments are the name of the function and the number of examples.

    Args:
        make: Returns batches of results, or an iterable of them, of a function and a number of
            examples.
    """
    name, count = sys.argv[1], int(sys.argv[2])
    function = FUNCTIONS[name]
    dtype = np.float32 if name.endswith("large") else np.uint8
    cpu_seconds = time.process_time()
    begin = time.monotonic()
    marks, total = [], 0
    for batch in make(function, count):
        images = np.asarray(batch)
        if images.dtype != dtype or images.shape[1:] != (224, 224, 3):
            raise ValueError(f"{images.dtype} results of shape {images.shape}")
        total += len(images)
        marks.append((time.monotonic(), total))
    figures = {
        "count": total,
        "seconds": marks[-1][0] - begin,
        "rate": steady_rate(marks),
        "cpu_seconds_before": cpu_seconds,
        "first_batch_at": marks[0][0],
    }
    print(json.dumps(figures), flush=True)


def by_hand(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    """Yields batches as a loop without a library makes them, in one thread."""
    for begin in range(0, count, BATCH_SIZE):
        yield np.stack(
            [function(number) for number in range(begin, min(begin + BATCH_SIZE, count))]
        )


if __name__ == "__main__":
    run(by_hand)
