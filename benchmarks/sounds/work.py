"""The sounds that programs read, what is computed of them, and the sums over that."""

from pathlib import Path
from typing import Any

import numpy as np

BATCH_SIZE = 32
SAMPLE_RATE = 16_000
NUM_SAMPLES = 2 * SAMPLE_RATE
NUM_FFT, HOP, NUM_BANDS = 400, 160, 80
NUM_FRAMES = 1 + NUM_SAMPLES // HOP
FLOOR = 1e-10
NUM_CLASSES = 10


def files_of(home: Path) -> list[str]:
    """Returns the sounds of a directory of data, in the order of their names."""
    return sorted(map(str, home.glob("*/*.wav")))


def label_of(name: str) -> int:
    """Returns the class of a sound, which its directory is named after."""
    return int(Path(name).parent.name)


def sums_of(batch: Any) -> list[int]:
    """Returns the number of sounds, and sums over them. Programs differ in the last by a little.

    Args:
        batch: The logarithms of the energies of bands, float32, (n, 80, 201), and labels, (n,).
    """
    bands, labels = (np.asarray(component) for component in batch)
    if bands.shape[1:] != (NUM_BANDS, NUM_FRAMES) or bands.dtype != np.float32:
        raise ValueError(f"{bands.dtype} bands of shape {bands.shape}")
    wide = labels.astype(np.int64)
    energies = np.exp(bands[:, ::4, ::8], dtype=np.float64)
    return [len(wide), int(wide.sum()), int(wide @ wide), round(energies.sum() * 1e6)]
