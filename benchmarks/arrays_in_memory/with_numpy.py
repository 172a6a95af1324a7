"""NumPy: a permutation for each epoch, and indexing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import taking
from benchmarks.arrays_in_memory import work


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    return indexed(*work.arrays_of(home), num_epochs)


def indexed(features: np.ndarray, labels: np.ndarray, num_epochs: int) -> Iterator[Any]:
    """Yields batches of arrays."""
    generator = np.random.default_rng(1)
    for _ in range(num_epochs):
        order = generator.permutation(len(labels))
        for begin in range(0, len(order), work.BATCH_SIZE):
            rows = order[begin : begin + work.BATCH_SIZE]
            yield features[rows], labels[rows]


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
