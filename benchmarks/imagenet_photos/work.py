"""The photos that programs read, and the sums over them."""

from pathlib import Path
from typing import Any

import numpy as np

BATCH_SIZE = 64
SIDE = 224
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def files_of(home: Path) -> list[str]:
    """Returns the photos of a directory of data, in directories that are called as their labels."""
    return sorted(str(path) for path in home.glob("*/*.jpg"))


def label_of(name: str) -> int:
    """Returns the label of a photo: the name of its directory."""
    return int(name.rsplit("/", 2)[1])


def sums_of(batch: Any) -> list[int]:
    """Returns the number of photos, and sums over their labels. Pixels are random.

    Args:
        batch: Photos, float32, (n, 3, 224, 224), around 0, and labels, integers, (n,).
    """
    photos, labels = (np.asarray(component) for component in batch)
    corner = photos[:, :, ::32, ::32]
    if photos.shape[1:] != (3, SIDE, SIDE) or photos.dtype != np.float32:
        raise ValueError(f"{photos.dtype} photos of shape {photos.shape}")
    if not 0.1 < corner.std() < 2 or abs(corner.mean()) > 1 or np.abs(corner).max() > 2.7:
        raise ValueError(f"photos of mean {corner.mean()}, deviation {corner.std()}")
    wide = labels.astype(np.int64)
    return [len(wide), int(wide.sum()), int(wide @ wide)]
