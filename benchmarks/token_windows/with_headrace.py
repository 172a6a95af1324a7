"""Reads with headrace: a shuffle of all windows."""

import sys
from collections.abc import Iterator

import numpy as np

import headrace as hr
from benchmarks.token_windows.windows import BATCH, LENGTH, PATH, read


def batches() -> Iterator[np.ndarray]:
    pipe = hr.tokens(PATH, LENGTH, np.uint16).shuffle(seed=1).epochs().batch(BATCH)
    return (batch["tokens"] for batch in pipe)


if __name__ == "__main__":
    read(int(sys.argv[1]), batches)
