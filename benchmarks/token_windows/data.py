"""A file of tokens of 16 bits."""

from pathlib import Path

import numpy as np

from benchmarks.token_windows.work import LENGTH, STEP, file_of

PIECE = 2**20


def make(home: Path, count: int) -> list[int]:
    """Writes as many tokens as a number of windows has."""
    num_tokens = count * (LENGTH - 1) + 1
    # A whole number of periods, so all pieces are equal.
    piece = (np.arange(PIECE) * STEP % 2**16).astype(np.uint16)
    with file_of(home).open("wb") as file:
        for begin in range(0, num_tokens, PIECE):
            file.write(piece[: num_tokens - begin].tobytes())
    return []
