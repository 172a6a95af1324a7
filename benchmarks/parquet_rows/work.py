"""The rows that programs read, and the sums over them."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.taking import text_bytes

WINDOW = 100_000
BATCH_SIZE = 4_096
NUM_FILES = 8
FEATURES = [f"f{number}" for number in range(8)]
NUMBERS = [*FEATURES, "id", "label"]
TEXT = "name"
FRACTION = 1_024
"""Features are whole numbers divided by this, so that their sums are exact."""


def files_of(home: Path) -> list[str]:
    """Returns the files of a directory of data."""
    return [str(home / f"rows-{number}.parquet") for number in range(NUM_FILES)]


def sums_of(batch: Any) -> list[int]:
    """Returns the number of rows, and sums that change if a row is lost, doubled or mixed up.

    Args:
        batch: Arrays by name: float32 features, int64 `id` and `label`, all of shape (n,); strings
            in any form of `text_bytes`.
    """
    ids, labels = batch["id"], batch["label"]
    features = sum(int(batch[name].sum(dtype=np.float64) * FRACTION) for name in FEATURES)
    return [len(ids), int(ids.sum()), int(ids @ labels), features, text_bytes(batch[TEXT])]
