"""Takes, sums and times the batches of a program."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

Make = Callable[[Path, int], Iterable[Any]]
"""Returns the batches of a directory of data, read a number of times."""


def run(make: Make, sums_of: Callable[[Any], list[int]]) -> None:
    """Takes all batches of a program and prints a line of JSON.

    The command's arguments are the directory of the data and how often it is read. All of the time
    counts, from the first request to the last batch, since some programs shuffle in large blocks;
    what was imported, described and loaded into memory before does not.

    Args:
        make: Returns batches.
        sums_of: Returns the number of examples of a batch and sums over them.
    """
    home, num_epochs = Path(sys.argv[1]), int(sys.argv[2])
    batches = make(home, num_epochs)
    cpu_seconds = time.process_time()
    begin = time.monotonic()
    first_batch_at = 0.0
    totals: list[int] = []
    for batch in batches:
        sums = sums_of(batch)
        totals = [a + b for a, b in zip(totals or [0] * len(sums), sums, strict=True)]
        first_batch_at = first_batch_at or time.monotonic()
    figures = {
        "count": totals[0],
        "sums": totals[1:],
        "seconds": time.monotonic() - begin,
        "cpu_seconds_before": cpu_seconds,
        "first_batch_at": first_batch_at,
    }
    print(json.dumps(figures), flush=True)


def components(batches: Iterable[Any], *names: str) -> Iterator[tuple[Any, ...]]:
    """Yields some components of each batch, in a tuple."""
    for batch in batches:
        yield tuple(batch[name] for name in names)


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
