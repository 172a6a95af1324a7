"""NumPy: random places of a memmap. With `--get-batch` as nanoGPT does it, but for PyTorch."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import taking
from benchmarks.token_windows import work


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    random = np.random.default_rng(1)
    is_nanogpt = "--get-batch" in sys.argv
    tokens = np.memmap(work.file_of(home), np.uint16, "r")
    left = (len(tokens) - 1) // (work.LENGTH - 1) * num_epochs
    while left:
        if is_nanogpt:
            # Opened again for each batch, as it is there, against growing memory.
            tokens = np.memmap(work.file_of(home), np.uint16, "r")
        positions = random.integers(0, len(tokens) - work.LENGTH + 1, min(left, work.BATCH_SIZE))
        windows = [tokens[position : position + work.LENGTH] for position in positions.tolist()]
        if is_nanogpt:
            windows = [window.astype(np.int64) for window in windows]
        yield (np.stack(windows),)
        left -= len(windows)


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
