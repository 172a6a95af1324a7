"""Lines by their numbers, by hand with NumPy; where they begin is kept for the second start."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.first_batch import work

NEWLINE = 10


class Lines:
    """The lines of all files."""

    def __init__(self, home: Path, is_cold: bool) -> None:
        self._files = [np.memmap(name, np.uint8, "r") for name in work.files_of(home)]
        kept = home / "ends.npz"
        if is_cold:
            kept.unlink(missing_ok=True)
            ends = [np.flatnonzero(data == NEWLINE) for data in self._files]
            np.savez(kept, *ends)
        else:
            with np.load(kept) as arrays:
                ends = [arrays[name] for name in arrays.files]
        self._ends = ends
        self._counts = np.cumsum([len(each) for each in ends])

    def __len__(self) -> int:
        return int(self._counts[-1])

    def __getitem__(self, number: int) -> bytes:
        file = int(np.searchsorted(self._counts, number, "right"))
        position = int(number) - (int(self._counts[file - 1]) if file else 0)
        ends = self._ends[file]
        begin = int(ends[position - 1]) + 1 if position else 0
        return self._files[file][begin : int(ends[position])].tobytes()

    def batch(self, numbers: Sequence[int]) -> list[bytes]:
        """Returns several lines."""
        return [self[number] for number in numbers]


def middle_of(count: int) -> int:
    """Returns the number of examples in the batches of the first half of an epoch."""
    return count // work.BATCH_SIZE // 2 * work.BATCH_SIZE
