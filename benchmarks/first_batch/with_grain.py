"""Grain, two threads, over lines by number."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grain

from benchmarks.first_batch import work
from benchmarks.first_batch.lines import Lines, middle_of

READING = grain.ReadOptions(num_threads=2, prefetch_buffer_size=1_024)


def batches(home: Path, is_cold: bool, is_resumed: bool = False) -> Iterator[Any]:
    """Returns batches of all lines in random order."""
    lines = Lines(home, is_cold)
    data = grain.MapDataset.source(lines).shuffle(seed=1)
    if is_resumed:
        data = data.slice(slice(middle_of(len(lines)), None))
    return iter(data.to_iter_dataset(READING).batch(work.BATCH_SIZE, batch_fn=list))


CASES = {
    "cold": lambda home: batches(home, True),
    "second": lambda home: batches(home, False),
    "resume": lambda home: batches(home, False, True),
    work.PREPARE: lambda home: batches(home, True),
}

if __name__ == "__main__":
    work.run(CASES)
