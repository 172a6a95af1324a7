"""orjson: lines are shuffled as bytes, in plain Python, and parsed batch by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from benchmarks import taking
from benchmarks.json_lines import work
from benchmarks.pipelines.libraries.shuffling import epochs_of, shuffled
from benchmarks.pipelines.libraries.text import lines_of


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    lines = lines_of(epochs_of(work.files_of(home), num_epochs))
    for batch in shuffled(lines, work.BATCH_SIZE, work.WINDOW):
        parsed = [orjson.loads(line) for line in batch]
        numbers = np.array([line[work.NUMBER] for line in parsed], np.int64)
        yield numbers, [line[work.TEXT] for line in parsed]


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
