"""SPDL: two threads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spdl.pipeline import PipelineBuilder

from benchmarks import taking
from benchmarks.imagenet_photos import work
from benchmarks.imagenet_photos.augmenting import load, normalised
from benchmarks.pipelines.libraries.shuffling import epochs_of

NUM_THREADS = 2
NUM_BATCHES = 8


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    builder = PipelineBuilder().add_source(epochs_of(work.files_of(home), num_epochs))
    builder = builder.pipe(load, concurrency=NUM_THREADS).aggregate(work.BATCH_SIZE)
    builder = builder.pipe(normalised).add_sink(NUM_BATCHES)
    pipeline = builder.build(num_threads=NUM_THREADS + 1)
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
