"""PyTorch's DataLoader with two workers, which make whole batches."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks import taking
from benchmarks.imagenet_photos import work
from benchmarks.imagenet_photos.augmenting import load, normalised


class Photos(Dataset[Any]):
    """The photos, by number."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> Any:
        return load(self._files[index])


def collate(photos: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns a batch."""
    images, labels = normalised(photos)
    return torch.from_numpy(images), torch.from_numpy(labels)


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    torch.set_num_threads(1)
    photos = Photos(work.files_of(home) * num_epochs)
    workers = {"num_workers": 2, "prefetch_factor": 4}
    return iter(DataLoader(photos, work.BATCH_SIZE, shuffle=True, collate_fn=collate, **workers))


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
