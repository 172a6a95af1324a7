"""NumPy: a permutation of all lines, or a pool in plain Python."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.first_batch import work
from benchmarks.first_batch.lines import Lines, middle_of
from benchmarks.pipelines.libraries import text
from benchmarks.pipelines.libraries.shuffling import shuffled


def permuted(home: Path, is_cold: bool, is_resumed: bool = False) -> Iterator[Sequence[bytes]]:
    """Yields batches of all lines in random order."""
    lines = Lines(home, is_cold)
    order = np.random.default_rng(1).permutation(len(lines))
    for begin in range(middle_of(len(lines)) if is_resumed else 0, len(lines), work.BATCH_SIZE):
        yield lines.batch(order[begin : begin + work.BATCH_SIZE].tolist())


def window(home: Path) -> Iterator[Sequence[bytes]]:
    """Returns batches out of a pool."""
    return shuffled(text.lines_of(work.files_of(home)), work.BATCH_SIZE, work.WINDOW)


def resumed_window(home: Path) -> Iterator[Sequence[bytes]]:
    """Returns batches after the middle, for which all before are read again."""
    count = len(Lines(home, False))
    return islice(window(home), middle_of(count) // work.BATCH_SIZE, None)


CASES = {
    "window": window,
    "cold": lambda home: permuted(home, True),
    "second": lambda home: permuted(home, False),
    "resume": lambda home: permuted(home, False, True),
    "resume-window": resumed_window,
    work.PREPARE: lambda home: permuted(home, True),
}

if __name__ == "__main__":
    work.run(CASES)
