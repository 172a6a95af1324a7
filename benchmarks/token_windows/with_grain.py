"""Grain: a source over a memmap, shuffled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grain
import numpy as np

from benchmarks import taking
from benchmarks.token_windows import work


class Windows:
    """The windows of a file, by number."""

    def __init__(self, path: Path) -> None:
        self._tokens = np.memmap(path, np.uint16, "r")

    def __len__(self) -> int:
        return (len(self._tokens) - 1) // (work.LENGTH - 1)

    def __getitem__(self, number: int) -> np.ndarray:
        start = number * (work.LENGTH - 1)
        return np.asarray(self._tokens[start : start + work.LENGTH])


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    data = grain.MapDataset.source(Windows(work.file_of(home))).shuffle(seed=1)
    batched = data.repeat(num_epochs).batch(work.BATCH_SIZE, batch_fn=stack)
    return iter(batched.to_iter_dataset())


def stack(windows: Any) -> tuple[np.ndarray]:
    """Returns a batch."""
    return (np.stack(windows),)


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
