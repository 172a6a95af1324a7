"""PyTorch's DataLoader. What is read and parsed, and how, is the user's.

`--workers N` makes N processes do it; none: the loop itself.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from benchmarks.pipelines import consume
from benchmarks.pipelines.libraries import cifar, digits, folder, text
from benchmarks.pipelines.libraries.shuffling import POOL, epochs_of, shuffled, shuffled_rows

PREFETCH = 4


class Batches(IterableDataset[Any]):
    """Whole batches, made by each worker of its share of the files."""

    def __init__(self, files: Sequence[str], make: Callable[..., Iterable[Any]]) -> None:
        self._files = files
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        number, count = (worker.id, worker.num_workers) if worker else (0, 1)
        share = self._files[number::count]
        for batch in self._make(share, POOL // count, number):
            yield [torch.from_numpy(part) for part in batch] if isinstance(batch, tuple) else batch


class Photos(Dataset[Any]):
    """A photo for each index; the loader puts batches together."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        pixels, label = folder.load(self._files[index])
        return torch.from_numpy(pixels), label


def examples(files: Sequence[str], pool_size: int, seed: int) -> Iterator[Any]:
    return map(digits.parse_digits, shuffled(digits.records_of(files), 128, pool_size, seed))


def augmented_images(files: Sequence[str], pool_size: int, seed: int) -> Iterator[Any]:
    generator = np.random.default_rng(seed)
    for (records,) in shuffled_rows(cifar.records_of(files), 128, pool_size, seed):
        yield cifar.augment(records, generator)


def images(files: Sequence[str], pool_size: int, seed: int) -> Iterator[Any]:
    for (records,) in shuffled_rows(cifar.records_of(files), 128, pool_size, seed):
        yield cifar.decode(records)


def numbers(files: Sequence[str], pool_size: int, seed: int) -> Iterator[Any]:
    return shuffled_rows(text.tables_of(files, has_threads=False), 256, pool_size, seed)


def lines(files: Sequence[str], pool_size: int, seed: int) -> Iterator[Any]:
    return shuffled(text.lines_of(files), 1_024, pool_size, seed)


def num_workers() -> int:
    """Returns how many processes the command asks for."""
    return int(sys.argv[sys.argv.index("--workers") + 1])


def loader_of(task: str, files: list[str], num_epochs: int) -> DataLoader[Any]:
    """Returns what loads batches."""
    torch.set_num_threads(1)
    workers: dict[str, Any] = {"num_workers": num_workers()}
    if workers["num_workers"]:
        workers["prefetch_factor"] = PREFETCH
    if task == "photos":
        return DataLoader(Photos(files * num_epochs), batch_size=64, shuffle=True, **workers)
    make = {
        "examples": examples,
        "augmented_images": augmented_images,
        "images": images,
        "numbers": numbers,
        "lines": lines,
    }[task]
    return DataLoader(Batches(epochs_of(files, num_epochs), make), batch_size=None, **workers)


if __name__ == "__main__":
    consume.run(loader_of)
