"""Python's tarfile and simplejpeg, in one thread."""

import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import taking
from benchmarks.pipelines.libraries.shuffling import epochs_of, shuffled
from benchmarks.tar_photos import work
from benchmarks.tar_photos.decoding import Sample, decode, pairs, stack


def samples(files: Sequence[str]) -> Iterator[Sample]:
    """Yields the samples of all files."""
    for name in files:
        with tarfile.open(name) as archive:
            yield from pairs(
                (member.name, file.read())
                for member in archive
                if (file := archive.extractfile(member)) is not None
            )


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    found = samples(epochs_of(work.files_of(home), num_epochs))
    for batch in shuffled(found, work.BATCH_SIZE, work.WINDOW):
        yield stack([decode(sample) for sample in batch])


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
