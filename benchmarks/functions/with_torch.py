"""PyTorch's DataLoader with two workers."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.functions import work


class Called(Dataset[Any]):
    """The results of a function, by number."""

    def __init__(self, function: Callable[[int], np.ndarray], count: int) -> None:
        self._function = function
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(self._function(index))


def batches(function: Callable[[int], np.ndarray], count: int) -> Iterator[np.ndarray]:
    """Yields batches."""
    torch.set_num_threads(1)
    loader = DataLoader(Called(function, count), work.BATCH_SIZE, num_workers=2, prefetch_factor=4)
    for batch in loader:
        yield batch.numpy()


if __name__ == "__main__":
    work.run(batches)
