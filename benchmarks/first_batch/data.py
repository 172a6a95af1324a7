"""Files of lines of 18 to 29 letters."""

from pathlib import Path

import numpy as np

from benchmarks.first_batch.work import files_of, line_of


def make(home: Path, count: int) -> list[int]:
    """Writes lines into files."""
    files = files_of(home)
    bounds = np.linspace(0, count, len(files) + 1).astype(int).tolist()
    for name, begin, end in zip(files, bounds, bounds[1:], strict=False):
        with open(name, "w") as file:
            file.writelines(f"{line_of(number)}\n" for number in range(begin, end))
    return []
