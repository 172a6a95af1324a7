"""pyarrow and NumPy: blocks of rows are permuted, with what waits beside."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import taking
from benchmarks.parquet_rows import work
from benchmarks.pipelines.libraries.shuffling import epochs_of

PIECE = 65_536


def pieces(files: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields columns of numbers as NumPy's arrays, and strings as pyarrow's."""
    for name in files:
        for piece in pq.ParquetFile(name).iter_batches(PIECE):
            columns = {name: piece.column(name).to_numpy() for name in work.NUMBERS}
            yield columns | {work.TEXT: piece.column(work.TEXT)}


def permuted(waiting: Sequence[dict[str, Any]], generator: np.random.Generator) -> dict[str, Any]:
    """Returns all rows of some pieces, in random order."""
    order = generator.permutation(sum(len(piece["id"]) for piece in waiting))
    columns = {
        name: np.concatenate([piece[name] for piece in waiting])[order] for name in work.NUMBERS
    }
    texts = pa.concat_arrays([piece[work.TEXT] for piece in waiting])
    return columns | {work.TEXT: texts.take(pa.array(order))}


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    generator = np.random.default_rng(1)
    waiting: list[dict[str, Any]] = []
    count = 0
    for piece in pieces(epochs_of(work.files_of(home), num_epochs)):
        waiting.append(piece)
        count += len(piece["id"])
        if count >= 2 * work.WINDOW:
            rows = permuted(waiting, generator)
            ready = (count - work.WINDOW) // work.BATCH_SIZE * work.BATCH_SIZE
            yield from cut(rows, ready)
            waiting = [{name: column[ready:] for name, column in rows.items()}]
            count -= ready
    yield from cut(permuted(waiting, generator), count)


def cut(rows: dict[str, Any], end: int) -> Iterator[dict[str, Any]]:
    """Yields the first rows as batches."""
    for begin in range(0, end, work.BATCH_SIZE):
        stop = min(begin + work.BATCH_SIZE, end)
        yield {name: column[begin:stop] for name, column in rows.items()}


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
