"""The file of tokens, and what a program that reads it prints."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

LENGTH = 1025
BATCH = 64
NUM_TOKENS = 100_000_000
PATH = Path(tempfile.gettempdir()) / "headrace-bench-tokens.bin"


def write() -> None:
    """Writes the file, unless it is there: numbers of 16 bits."""
    if PATH.exists() and PATH.stat().st_size == 2 * NUM_TOKENS:
        return
    random = np.random.default_rng(1)
    with PATH.open("wb") as file:
        for _ in range(10):
            file.write(random.integers(0, 50_257, NUM_TOKENS // 10).astype(np.uint16).tobytes())


def read(num_batches: int, batches_of: Callable[[], Iterator[np.ndarray]]) -> None:
    """Reads batches of shape (BATCH, LENGTH), and prints how long they took.

    Args:
        num_batches: How many are timed.
        batches_of: Begins; the first ten batches are not timed.
    """
    write()
    batches = batches_of()
    for _ in range(10):
        next(batches)
    total, begin = 0, time.perf_counter()
    for _ in range(num_batches):
        batch = next(batches)
        assert batch.shape == (BATCH, LENGTH)
        total += int(batch[0, 0])
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "windows": num_batches * BATCH, "total": total}))
