"""The pictures that programs read, and the sums over them."""

from pathlib import Path
from typing import Any

import numpy as np

WINDOW = 1_000
BATCH_SIZE = 128
NUM_FILES = 8
SIDE = 64
PIXELS = slice(3, None, 8)
"""Of the rows and the columns of a picture, those that are summed."""


def files_of(home: Path) -> list[str]:
    """Returns the archives of a directory of data."""
    return [str(home / f"pictures-{number}.tar") for number in range(NUM_FILES)]


def sums_of(batch: Any) -> list[int]:
    """Returns the number of pictures, and sums over them. Decoders differ in the last by a little.

    Args:
        batch: Pictures, uint8, (n, 64, 64, 3), and labels, integers, (n,).
    """
    pictures, labels = (np.asarray(component) for component in batch)
    if pictures.shape[1:] != (SIDE, SIDE, 3) or pictures.dtype != np.uint8:
        raise ValueError(f"{pictures.dtype} pictures of shape {pictures.shape}")
    wide = labels.astype(np.int64)
    pixels = pictures[:, PIXELS, PIXELS].sum(dtype=np.int64)
    return [len(wide), int(wide.sum()), int(wide @ wide), int(pixels)]
