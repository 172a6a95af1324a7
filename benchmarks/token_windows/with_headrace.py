"""headrace: a shuffle of all windows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
from benchmarks import taking
from benchmarks.token_windows import work


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    windows = hr.tokens(work.file_of(home), work.LENGTH, np.uint16).shuffle(seed=1)
    return taking.components(windows.epochs(num_epochs).batch(work.BATCH_SIZE), "tokens")


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
