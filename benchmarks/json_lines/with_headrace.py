"""headrace: two keys of JSON lines, and a window."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks import taking
from benchmarks.json_lines import work


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches; `--arrow` is for strings as an array of pyarrow's."""
    lines = hr.json_lines(work.files_of(home), {work.NUMBER: int, work.TEXT: str})
    shuffled = lines.shuffle(window=work.WINDOW, seed=1).epochs(num_epochs)
    strings = "arrow" if "--arrow" in sys.argv else "numpy"
    pipeline = shuffled.batch(work.BATCH_SIZE).options(strings=strings)
    return taking.components(pipeline, work.NUMBER, work.TEXT)


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
