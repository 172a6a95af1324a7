"""W14: arrays in memory, all rows shuffled in each epoch."""

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import torch_loader
from benchmarks.workload import BY_HAND, Part, Workload

BATCH_SIZE = 128
WIDTH = 256
FRACTION = 256
"""Features are whole numbers divided by this, so that their sums are exact."""


def make(home: Path, count: int) -> list[Part]:
    """Writes rows: features and labels."""
    rng = np.random.default_rng(14)
    features = rng.integers(0, FRACTION, (count, WIDTH), np.int16).astype(np.float32) / FRACTION
    labels = rng.integers(0, 1_000, count)
    np.save(home / "features.npy", features.astype(np.float32))
    np.save(home / "labels.npy", labels)
    return [Part([], count, sums_of((features, labels))[1:])]


def sums_of(batch: Any) -> list[int]:
    """Sums features, float32, (n, 256), and labels, int64, (n,)."""
    features, labels = (np.asarray(component) for component in batch)
    ends = (features[:, :: WIDTH - 1] * FRACTION).astype(np.int64)
    return [len(labels), int(labels.sum()), int(ends.sum()), int(labels @ ends[:, 0])]


W14 = Workload(
    __name__,
    "W14",
    "arrays",
    "Arrays in memory, 256 floats and a label a row: all rows shuffled, 20 epochs, batches of 128",
    "rows",
    sums_of,
    count=100_000,
    make=make,
    num_epochs=20,
)


def arrays_of(home: Path) -> tuple[np.ndarray, np.ndarray]:
    """Returns features, float32, (n, 256), and labels, int64, (n,)."""
    return np.load(home / "features.npy"), np.load(home / "labels.npy")


@W14.program("headrace", "headrace", "`hr.arrays(...).shuffle(seed=1)`; one thread for each core")
def with_headrace(home: Path, num_epochs: int) -> Iterable[Any]:
    import headrace as hr

    features, labels = arrays_of(home)
    rows = hr.arrays({"x": features, "y": labels}).shuffle(seed=1).epochs(num_epochs)
    return ((batch["x"], batch["y"]) for batch in rows.batch(BATCH_SIZE))


@W14.program(BY_HAND, "NumPy by hand", "`x[permutation]`, one thread", "numpy")
def with_numpy(home: Path, num_epochs: int) -> Iterator[Any]:
    features, labels = arrays_of(home)

    def batches() -> Iterator[Any]:
        generator = np.random.default_rng(1)
        for _ in range(num_epochs):
            order = generator.permutation(len(labels))
            for begin in range(0, len(order), BATCH_SIZE):
                rows = order[begin : begin + BATCH_SIZE]
                yield features[rows], labels[rows]

    return batches()


@W14.program(
    "torch-alone",
    "PyTorch, no workers",
    "`DataLoader(TensorDataset, num_workers=0)`",
    "torch",
    num_workers=0,
)
@W14.program(
    "torch-workers",
    "PyTorch, two workers",
    "`DataLoader(TensorDataset, num_workers=2, persistent_workers=True)`",
    "torch",
    num_workers=2,
)
def with_torch(home: Path, num_epochs: int, num_workers: int) -> Iterable[Any]:
    import torch
    from torch.utils.data import TensorDataset

    data = TensorDataset(*map(torch.from_numpy, arrays_of(home)))
    has_workers = num_workers > 0
    loader = torch_loader(
        data, BATCH_SIZE, num_workers, shuffle=True, persistent_workers=has_workers
    )
    return chain.from_iterable(repeat(loader, num_epochs))


W14.limit("arrays")
