"""The arrays that programs read, and the sums over them."""

from pathlib import Path
from typing import Any

import numpy as np

BATCH_SIZE = 128
WIDTH = 256
FRACTION = 256
"""Features are whole numbers divided by this, so that their sums are exact."""


def arrays_of(home: Path) -> tuple[np.ndarray, np.ndarray]:
    """Returns features, float32, (n, 256), and labels, int64, (n,)."""
    return np.load(home / "features.npy"), np.load(home / "labels.npy")


def sums_of(batch: Any) -> list[int]:
    """Returns the number of rows, and sums that change if a row is lost, doubled or mixed up.

    Args:
        batch: Features, float32, (n, 256), and labels, int64, (n,).
    """
    features, labels = (np.asarray(component) for component in batch)
    ends = (features[:, :: WIDTH - 1] * FRACTION).astype(np.int64)
    return [len(labels), int(labels.sum()), int(ends.sum()), int(labels @ ends[:, 0])]
