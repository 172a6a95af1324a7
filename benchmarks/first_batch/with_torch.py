"""PyTorch's DataLoader with two workers over lines by number."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from benchmarks.first_batch import work
from benchmarks.first_batch.lines import Lines, middle_of


def batches(home: Path, is_cold: bool, is_resumed: bool = False) -> Iterator[Any]:
    """Returns batches of all lines in random order."""
    lines = Lines(home, is_cold)
    order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(1)).tolist()
    rest = order[middle_of(len(lines)) :] if is_resumed else order
    data: Any = lines
    return iter(DataLoader(data, work.BATCH_SIZE, sampler=rest, num_workers=2, collate_fn=list))


CASES = {
    "cold": lambda home: batches(home, True),
    "second": lambda home: batches(home, False),
    "resume": lambda home: batches(home, False, True),
    work.PREPARE: lambda home: batches(home, True),
}

if __name__ == "__main__":
    work.run(CASES)
