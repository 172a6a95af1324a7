"""headrace: `arrays`, all rows shuffled in each epoch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks import taking
from benchmarks.arrays_in_memory import work


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    features, labels = work.arrays_of(home)
    rows = hr.arrays({"x": features, "y": labels}).shuffle(seed=1).epochs(num_epochs)
    return taking.components(rows.batch(work.BATCH_SIZE), "x", "y")


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
