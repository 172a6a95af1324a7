"""simplejpeg and OpenCV in one thread."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import taking
from benchmarks.imagenet_photos import work
from benchmarks.imagenet_photos.augmenting import load, normalised
from benchmarks.pipelines.libraries.shuffling import epochs_of


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    names = epochs_of(work.files_of(home), num_epochs)
    for begin in range(0, len(names), work.BATCH_SIZE):
        yield normalised([load(name) for name in names[begin : begin + work.BATCH_SIZE]])


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
