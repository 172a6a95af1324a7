"""Reads with Grain: a source over a memmap, shuffled."""

import sys
from collections.abc import Iterator

import grain
import numpy as np

from benchmarks.token_windows.windows import BATCH, LENGTH, PATH, read


class Windows:
    def __init__(self) -> None:
        self._tokens = np.memmap(PATH, np.uint16, "r")

    def __len__(self) -> int:
        return (len(self._tokens) - LENGTH) // (LENGTH - 1) + 1

    def __getitem__(self, number: int) -> np.ndarray:
        start = number * (LENGTH - 1)
        return np.asarray(self._tokens[start : start + LENGTH])


def batches() -> Iterator[np.ndarray]:
    data = grain.MapDataset.source(Windows()).shuffle(seed=1).repeat().batch(BATCH)
    return iter(data.to_iter_dataset())


if __name__ == "__main__":
    read(int(sys.argv[1]), batches)
