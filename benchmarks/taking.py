"""The work of a program with its batches: it takes, adds up and times them."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.pipelines.consume import steady_rate

Make = Callable[[Path, int], Iterable[Any]]
"""Returns the batches of a directory of data, read a number of times."""


def run(make: Make, sums_of: Callable[[Any], list[int]]) -> None:
    """Takes all batches of a program and prints a line of JSON.

    The command's arguments are the directory of the data and how often it is read.

    Args:
        make: Returns batches.
        sums_of: Returns the number of examples of a batch and sums over them.
    """
    home, num_epochs = Path(sys.argv[1]), int(sys.argv[2])
    cpu_seconds = time.process_time()
    begin = time.monotonic()
    marks: list[tuple[float, int]] = []
    totals: list[int] = []
    for batch in make(home, num_epochs):
        sums = sums_of(batch)
        totals = [a + b for a, b in zip(totals or [0] * len(sums), sums, strict=True)]
        marks.append((time.monotonic(), totals[0]))
    figures = {
        "count": totals[0],
        "sums": totals[1:],
        "seconds": marks[-1][0] - begin,
        "rate": steady_rate(marks),
        "cpu_seconds_before": cpu_seconds,
        "first_batch_at": marks[0][0],
    }
    print(json.dumps(figures), flush=True)


def text_bytes(texts: Any) -> int:
    """Returns the bytes of all strings: ASCII `str`, or what pyarrow or polars keeps them in."""
    if hasattr(texts, "combine_chunks"):
        texts = texts.combine_chunks()
    if hasattr(texts, "buffers"):
        return _arrow_bytes(texts)
    if hasattr(texts, "str"):
        return int(texts.str.len_bytes().sum())
    return sum(map(len, texts.tolist() if hasattr(texts, "tolist") else texts))


def _arrow_bytes(texts: Any) -> int:
    width = 8 if str(texts.type).startswith("large") else 4
    ends = memoryview(texts.buffers()[1]).cast("B").cast("q" if width == 8 else "i")
    return int(ends[texts.offset + len(texts)] - ends[texts.offset])
