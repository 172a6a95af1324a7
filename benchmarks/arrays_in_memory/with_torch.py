"""PyTorch: a TensorDataset in a DataLoader, with `--workers N` processes."""

import sys
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks import taking
from benchmarks.arrays_in_memory import work


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    torch.set_num_threads(1)
    num_workers = int(sys.argv[sys.argv.index("--workers") + 1])
    data = TensorDataset(*map(torch.from_numpy, work.arrays_of(home)))
    workers = {"num_workers": num_workers, "persistent_workers": num_workers > 0}
    loader = DataLoader(data, work.BATCH_SIZE, shuffle=True, **workers)
    return chain.from_iterable(repeat(loader, num_epochs))


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
