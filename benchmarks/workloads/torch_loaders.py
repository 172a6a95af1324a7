"""W18: a data set for `DataLoader`, with headrace's class and with PyTorch's own.

Two worker processes make samples of 1 KB, 150 KB or 600 KB.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import PREFETCH
from benchmarks.workload import Program, Workload

NUM_WORKERS = 2
NUM_KEPT = 64
"""The number of distinct samples."""


@dataclass(frozen=True)
class Samples:
    """A workload's samples.

    Attributes:
        shape: Of a sample.
        dtype: Of a sample.
        batch_size: The number of samples in a batch.
        expected_rate: The approximate number of samples that can be made per second.
    """

    shape: tuple[int, ...]
    dtype: type
    batch_size: int
    expected_rate: int

    def sums_of(self, batch: Any) -> list[int]:
        """Counts samples.

        Raises:
            ValueError: If the type, the shape or the content of a sample is wrong.
        """
        samples = np.asarray(batch)
        if samples.dtype != self.dtype or samples.shape[1:] != self.shape:
            raise ValueError(f"{samples.dtype} samples of shape {samples.shape}")
        flat = samples.reshape(len(samples), -1)
        if (flat[:, 0] != flat[:, -1]).any():
            raise ValueError("a sample is mixed up with another")
        return [len(samples)]


SAMPLES = {
    "1KB": Samples((256,), np.float32, 128, 40_000),
    "150KB": Samples((224, 224, 3), np.uint8, 32, 8_000),
    "600KB": Samples((224, 224, 3), np.float32, 32, 2_000),
}


def workload(task: str, title: str) -> Workload:
    """Returns the workload for a kind of samples. All kinds share their programs."""
    samples = SAMPLES[task]
    return Workload(
        __name__,
        "W18",
        task,
        title,
        "samples",
        samples.sums_of,
        count=8_000,
        expected_rate=samples.expected_rate,
        num_epochs=8_000,
        is_steady=True,
        variables={"OMP_NUM_THREADS": "1"},
        programs=PROGRAMS,
    )


class Dataset:
    """A map-style data set of samples. Each is a copy of a sample in memory."""

    def __init__(self, samples: Samples, count: int) -> None:
        values = np.arange(NUM_KEPT).astype(samples.dtype)
        self._kept = np.empty((NUM_KEPT, *samples.shape), samples.dtype)
        self._kept[:] = values.reshape(-1, *(1 for _ in samples.shape))
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Any:
        import torch

        return torch.from_numpy(self._kept[number % NUM_KEPT].copy())


PROGRAMS: list[Program] = []
SMALL = workload("1KB", "A PyTorch data set, two workers, samples of 1 KB")
MEDIUM = workload("150KB", "A PyTorch data set, two workers, samples of 150 KB")
LARGE = workload("600KB", "A PyTorch data set, two workers, samples of 600 KB")


def loader_batches(task: Path, count: int, loader: Any) -> Iterator[Any]:
    """Yields the batches of one epoch from a loader class."""
    import torch

    torch.set_num_threads(1)
    samples = SAMPLES[task.name]
    for batch in loader(
        Dataset(samples, count),
        batch_size=samples.batch_size,
        shuffle=True,
        num_workers=NUM_WORKERS,
        prefetch_factor=PREFETCH,
    ):
        yield batch.numpy()


@SMALL.program(
    "headrace",
    "headrace's `DataLoader`",
    "`headrace.torch.DataLoader(num_workers=2, prefetch_factor=4)`",
    "torch",
)
def with_headrace(task: Path, count: int) -> Iterator[Any]:
    from headrace.torch import DataLoader

    return loader_batches(task, count, DataLoader)


@SMALL.program(
    "headrace-threads",
    "headrace's `DataLoader`, threads",
    '`headrace.torch.DataLoader(num_workers=2, prefetch_factor=4, workers="threads")`',
    "torch",
)
def with_threads(task: Path, count: int) -> Iterator[Any]:
    from headrace.torch import DataLoader

    return loader_batches(task, count, partial(DataLoader, workers="threads"))


@SMALL.program(
    "torch",
    "PyTorch, two workers",
    "`torch.utils.data.DataLoader(num_workers=2, prefetch_factor=4)`",
    "torch",
)
def with_torch(task: Path, count: int) -> Iterator[Any]:
    from torch.utils.data import DataLoader

    return loader_batches(task, count, DataLoader)
