"""SPDL: its reader of archives, and two threads that decode."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import spdl.io
from spdl.pipeline import PipelineBuilder

from benchmarks import taking
from benchmarks.pipelines.libraries.shuffling import epochs_of, shuffled
from benchmarks.tar_photos import work
from benchmarks.tar_photos.decoding import Sample, decode, pairs, stack

NUM_THREADS = 2
NUM_BATCHES = 8


def samples(files: Sequence[str]) -> Iterator[Sample]:
    """Yields the samples of all files."""
    for name in files:
        yield from pairs(spdl.io.iter_tarfile(Path(name).read_bytes()))


def load(batch: Sequence[Sample]) -> Any:
    """Returns a batch of decoded pictures."""
    return stack([decode(sample) for sample in batch])


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    found = samples(epochs_of(work.files_of(home), num_epochs))
    builder = PipelineBuilder().add_source(shuffled(found, work.BATCH_SIZE, work.WINDOW))
    builder = builder.pipe(load, concurrency=NUM_THREADS).add_sink(NUM_BATCHES)
    pipeline = builder.build(num_threads=NUM_THREADS + 1)
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
