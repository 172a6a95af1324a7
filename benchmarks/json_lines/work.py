"""The lines that programs read, and the sums over them."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.taking import text_bytes

WINDOW = 10_000
BATCH_SIZE = 256
NUM_FILES = 8
NUMBER, TEXT = "id", "text"
"""The keys that are wanted, of four."""


def files_of(home: Path) -> list[str]:
    """Returns the files of a directory of data."""
    return [str(home / f"lines-{number}.jsonl") for number in range(NUM_FILES)]


def sums_of(batch: Any) -> list[int]:
    """Returns the number of lines, and sums that change if a line is lost or doubled.

    Args:
        batch: Numbers, int64, (n,), and texts in any form of `text_bytes`.
    """
    numbers, texts = batch
    wide = np.asarray(numbers)
    return [len(wide), int(wide.sum()), int(wide @ wide), text_bytes(texts)]
