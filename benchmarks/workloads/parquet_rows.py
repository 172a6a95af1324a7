"""W10: rows of Parquet files in shuffled batches."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.libraries import datasets_stream, polars_slices, text_bytes
from benchmarks.manual_loaders import epochs_of
from benchmarks.workload import BY_HAND, Part, Workload

WINDOW = 100_000
BATCH_SIZE = 4_096
NUM_FILES = 8
GROUP_ROWS = 50_000
PIECE_ROWS = 131_072
"""How many rows are added to those that wait, by hand, before all of them are permuted."""
LABELS = 1_000
FEATURES = [f"f{number}" for number in range(8)]
NUMBERS = [*FEATURES, "id", "label"]
TEXT = "name"
FRACTION = 1_024
"""Features are whole numbers divided by this, so that their sums are exact."""

Columns = dict[str, Any]


def make(home: Path, count: int) -> list[Part]:
    """Writes rows of eight features, a number, a label and a short string."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(10)
    totals = np.zeros(4, np.int64)
    for name, (begin, end) in zip(files_of(home), bounds_of(count, NUM_FILES), strict=True):
        size = end - begin
        columns = {
            feature: (rng.integers(0, FRACTION, size) / FRACTION).astype(np.float32)
            for feature in FEATURES
        }
        columns["id"] = np.arange(begin, end)
        columns["label"] = rng.integers(0, LABELS, size)
        columns[TEXT] = pa.array([f"{x:x}" for x in rng.integers(0, 2**50, size).tolist()])
        pq.write_table(pa.table(columns), name, row_group_size=GROUP_ROWS)
        totals += sums_of(columns)[1:]
    return [Part([], count, totals.tolist())]


def files_of(home: Path) -> list[str]:
    """Returns the files of a directory of data."""
    return [str(home / f"rows-{number}.parquet") for number in range(NUM_FILES)]


def sums_of(batch: Any) -> list[int]:
    """Sums up arrays by name: float32 features, int64 `id` and `label`, (n,), and strings."""
    ids, labels = batch["id"], batch["label"]
    features = sum(int(batch[name].sum(dtype=np.float64) * FRACTION) for name in FEATURES)
    return [len(ids), int(ids.sum()), int(ids @ labels), features, text_bytes(batch[TEXT])]


W10 = Workload(
    __name__,
    "W10",
    "rows",
    "Parquet, eleven columns, one of strings: shuffle 100,000, three epochs, batches of 4,096",
    "rows",
    sums_of,
    count=2_000_000,
    make=make,
    num_epochs=3,
)


@W10.program(
    "headrace-objects",
    "headrace, strings as `str`",
    "`hr.parquet`, a window; one thread for each core",
    strings="numpy",
)
@W10.program(
    "headrace",
    "headrace, Arrow strings",
    '`hr.parquet`, a window, `options(strings="arrow")`; one thread for each core',
    strings="arrow",
)
def with_headrace(home: Path, num_epochs: int, strings: str) -> Iterable[Any]:
    import headrace as hr

    rows = hr.parquet(files_of(home)).shuffle(window=WINDOW, seed=1).epochs(num_epochs)
    return rows.batch(BATCH_SIZE).options(strings=strings)


W10.limit("parquet_rows")


@W10.program(
    BY_HAND,
    "pyarrow and NumPy by hand",
    "`to_batches` with threads; 100,000 rows and the next block are permuted; Arrow strings",
    "polars",
    ["pyarrow.dataset"],
)
def with_pyarrow(home: Path, num_epochs: int) -> Iterator[Columns]:
    """Yields batches; blocks of rows are permuted, with what waits beside."""
    import pyarrow.dataset as ds

    def blocks() -> Iterator[Any]:
        return ds.dataset(files_of(home)).to_batches(batch_size=PIECE_ROWS)

    epochs = chain.from_iterable(blocks() for _ in range(num_epochs))
    for rows in permuted_tables(epochs, np.random.default_rng(1)):
        yield numbers_of(rows.column) | {TEXT: rows.column(TEXT)}


def permuted_tables(blocks: Iterable[Any], generator: np.random.Generator) -> Iterator[Any]:
    """Yields tables of `BATCH_SIZE` rows, and one with the rest.

    The `WINDOW` rows that wait are permuted together with those of the next block, and all but
    `WINDOW` of them are yielded.
    """
    import pyarrow as pa

    waiting = None
    for block in blocks:
        rows = pa.Table.from_batches([block])
        waiting = rows if waiting is None else pa.concat_tables([waiting, rows])
        ready = max(len(waiting) - WINDOW, 0) // BATCH_SIZE * BATCH_SIZE
        if ready:
            waiting = permuted(waiting, generator)
            yield from cut(waiting, ready)
            waiting = waiting.slice(ready)
    if waiting is not None:
        yield from cut(permuted(waiting, generator), len(waiting))


def permuted(rows: Any, generator: np.random.Generator) -> Any:
    """Returns the rows of a table in random order, each column end to end."""
    return rows.take(generator.permutation(len(rows))).combine_chunks()


def cut(rows: Any, end: int) -> Iterator[Any]:
    """Yields the first rows of a table as batches."""
    for begin in range(0, end, BATCH_SIZE):
        yield rows.slice(begin, min(BATCH_SIZE, end - begin))


def numbers_of(column: Callable[[str], Any]) -> Columns:
    """Returns the columns of numbers as arrays, out of those that a function returns by name."""
    return {name: column(name).to_numpy() for name in NUMBERS}


@W10.program(
    "polars",
    "polars",
    "`read_parquet`, a file at a time; `sample` shuffles; polars' strings",
    "polars",
    ["polars"],
)
def with_polars(home: Path, num_epochs: int) -> Iterator[Columns]:
    import polars as pl

    files = epochs_of(files_of(home), num_epochs)
    for batch in polars_slices(files, pl.read_parquet, WINDOW, BATCH_SIZE):
        yield numbers_of(batch.get_column) | {TEXT: batch[TEXT]}


@W10.program(
    "datasets",
    "Hugging Face datasets",
    '`load_dataset(streaming=True)`, `with_format("arrow")`, '
    "`shuffle(buffer_size=100000)`, no wait between epochs; Arrow strings",
    "datasets",
    ["datasets"],
)
def with_datasets(home: Path, num_epochs: int) -> Iterator[Columns]:
    files, cache = files_of(home), f"{home}-cache"
    for table in datasets_stream("parquet", files, cache, num_epochs, WINDOW, BATCH_SIZE):
        yield numbers_of(table.column) | {TEXT: table[TEXT]}
