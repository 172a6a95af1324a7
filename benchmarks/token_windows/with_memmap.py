"""Reads as `get_batch` of nanoGPT does, without PyTorch: a memmap, and random places."""

import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.token_windows.windows import BATCH, LENGTH, PATH, read


def batches() -> Iterator[np.ndarray]:
    random = np.random.default_rng(1)
    while True:
        # Opened again for each batch, as it is there, against growing memory.
        tokens = np.memmap(PATH, np.uint16, "r")
        places = random.integers(0, len(tokens) - LENGTH, BATCH)
        yield np.stack([tokens[place : place + LENGTH].astype(np.int64) for place in places])


if __name__ == "__main__":
    read(int(sys.argv[1]), batches)
