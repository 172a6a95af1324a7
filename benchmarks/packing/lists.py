"""The lists that are packed, and what a program that packs them prints."""

import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

LENGTH = 2048
MAX_OPEN = 64
NAME = "tokens"


def lists(num_lists: int) -> list[np.ndarray]:
    """Returns lists as long as texts are: log-normal with a median of 300, at most a row."""
    random = np.random.default_rng(1)
    lengths = np.clip(random.lognormal(np.log(300), 1.0, num_lists), 1, LENGTH).astype(int)
    return [np.full(length, number, np.int32) for number, length in enumerate(lengths, 1)]


def pack(num_lists: int, rows_of: Callable[[list[np.ndarray]], Iterable[dict[str, Any]]]) -> None:
    """Packs lists, and prints how long it took and how much of the rows fills up.

    Args:
        num_lists: How many.
        rows_of: Packs them into rows, which have the component `NAME`.
    """
    made = lists(num_lists)
    begin = time.perf_counter()
    num_rows = num_filled = total = 0
    for row in rows_of(made):
        num_rows += 1
        num_filled += int(np.count_nonzero(row[NAME]))
        total += int(row[NAME].sum(dtype=np.int64))
    seconds = time.perf_counter() - begin
    if total != sum(int(array.sum(dtype=np.int64)) for array in made):
        raise AssertionError("the rows do not have what the lists have")
    padding = 1 - num_filled / (num_rows * LENGTH)
    print(json.dumps({"seconds": seconds, "rows": num_rows, "padding": padding}))
