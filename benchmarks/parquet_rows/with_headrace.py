"""headrace: a window over rows of Parquet files."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks import taking
from benchmarks.parquet_rows import work


def batches(home: Path, num_epochs: int) -> Iterable[Any]:
    """Returns batches; `--arrow` is for strings as an array of pyarrow's."""
    rows = hr.parquet(work.files_of(home)).shuffle(window=work.WINDOW, seed=1).epochs(num_epochs)
    strings = "arrow" if "--arrow" in sys.argv else "numpy"
    return rows.batch(work.BATCH_SIZE).options(strings=strings)


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
