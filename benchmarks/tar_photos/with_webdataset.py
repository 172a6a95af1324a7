"""WebDataset: archives shared between `--workers N` processes, or read in this one."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import webdataset

from benchmarks import taking
from benchmarks.tar_photos import work
from benchmarks.tar_photos.decoding import decode, stack

PREFETCH = 4


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    num_workers = int(sys.argv[sys.argv.index("--workers") + 1])
    shards = work.files_of(home) * num_epochs
    data = webdataset.WebDataset(
        shards, shardshuffle=len(shards), workersplitter=webdataset.split_by_worker
    )
    data = data.shuffle(work.WINDOW // max(num_workers, 1)).to_tuple("jpg", "cls").map(decode)
    data = data.batched(work.BATCH_SIZE, collation_fn=stack, partial=True)
    workers = {"num_workers": num_workers, "prefetch_factor": PREFETCH} if num_workers else {}
    return iter(webdataset.WebLoader(data, batch_size=None, **workers))


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
