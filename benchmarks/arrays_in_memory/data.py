"""Two arrays: features and labels."""

from pathlib import Path

import numpy as np

from benchmarks.arrays_in_memory.work import FRACTION, WIDTH, sums_of


def make(home: Path, count: int) -> list[int]:
    """Writes rows; returns sums over them."""
    rng = np.random.default_rng(14)
    features = rng.integers(0, FRACTION, (count, WIDTH), np.int16).astype(np.float32) / FRACTION
    labels = rng.integers(0, 1_000, count)
    np.save(home / "features.npy", features.astype(np.float32))
    np.save(home / "labels.npy", labels)
    return sums_of((features, labels))[1:]
