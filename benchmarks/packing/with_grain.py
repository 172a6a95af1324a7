"""Packs with Grain's first fit, from lists in memory."""

import sys
from collections.abc import Iterable
from typing import Any

import grain
import numpy as np
from grain.experimental import FirstFitPackIterDataset

from benchmarks.packing.lists import LENGTH, MAX_OPEN, NAME, pack


def rows_of(lists: list[np.ndarray]) -> Iterable[dict[str, Any]]:
    data = grain.MapDataset.source(lists).map(lambda array: {NAME: array})
    return FirstFitPackIterDataset(
        data.to_iter_dataset(), length_struct={NAME: LENGTH}, num_packing_bins=MAX_OPEN
    )


if __name__ == "__main__":
    pack(int(sys.argv[1]), rows_of)
