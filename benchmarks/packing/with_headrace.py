"""Packs with headrace, from lists in memory."""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import headrace as hr
from benchmarks.packing.lists import LENGTH, MAX_OPEN, NAME, pack


def rows_of(lists: list[np.ndarray]) -> Iterable[dict[str, Any]]:
    examples = hr.iterable(lambda: ({NAME: array} for array in lists))
    return examples.pack(LENGTH, NAME, max_open=MAX_OPEN)


if __name__ == "__main__":
    pack(int(sys.argv[1]), rows_of)
