"""polars: frames of files are shuffled, with what waits beside."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks import taking
from benchmarks.json_lines import work
from benchmarks.pipelines.libraries.shuffling import epochs_of

SCHEMA = {work.NUMBER: pl.Int64, work.TEXT: pl.String}


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    waiting = None
    for number, name in enumerate(epochs_of(work.files_of(home), num_epochs)):
        frame = pl.scan_ndjson(name, schema=SCHEMA).collect()
        waiting = frame if waiting is None else pl.concat([waiting, frame])
        if len(waiting) >= 2 * work.WINDOW:
            rows = waiting.sample(fraction=1.0, shuffle=True, seed=number)
            ready = (len(rows) - work.WINDOW) // work.BATCH_SIZE * work.BATCH_SIZE
            yield from cut(rows[:ready])
            waiting = rows[ready:]
    if waiting is not None:
        yield from cut(waiting.sample(fraction=1.0, shuffle=True, seed=0))


def cut(rows: pl.DataFrame) -> Iterator[Any]:
    """Yields batches; texts stay polars'."""
    for batch in rows.iter_slices(work.BATCH_SIZE):
        yield batch[work.NUMBER].to_numpy(), batch[work.TEXT]


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
