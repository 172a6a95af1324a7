"""The file of tokens, and the sums over windows of it."""

from pathlib import Path
from typing import Any

import numpy as np

LENGTH = 2_049
BATCH_SIZE = 16
STEP = 40_503
"""How much larger a token is than the one before, by which windows are checked."""


def file_of(home: Path) -> Path:
    """Returns the file of a directory of data: numbers of 16 bits."""
    return home / "tokens.bin"


def sums_of(batch: Any) -> list[int]:
    """Returns the number of windows; which they are is random.

    Args:
        batch: Tokens, integers, (n, 2049), alone in a tuple.
    """
    (tokens,) = batch
    if tokens.shape[1:] != (LENGTH,):
        raise ValueError(f"windows of shape {tokens.shape}")
    first, second, last = (tokens[:, position].astype(np.uint16) for position in (0, 1, -1))
    is_next = second - first == np.uint16(STEP)
    if not (is_next & (last - first == np.uint16(STEP * (LENGTH - 1) % 2**16))).all():
        raise ValueError("windows are not what the file holds")
    return [len(tokens)]
