"""Grain: two threads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grain

from benchmarks import taking
from benchmarks.imagenet_photos import work
from benchmarks.imagenet_photos.augmenting import load, normalised

READING = grain.ReadOptions(num_threads=2, prefetch_buffer_size=64)


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    names = grain.MapDataset.source(work.files_of(home)).shuffle(seed=1).repeat(num_epochs)
    photos = names.map(load).to_iter_dataset(READING)
    return iter(photos.batch(work.BATCH_SIZE, batch_fn=normalised))


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
