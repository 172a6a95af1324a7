"""W10: rows of Parquet files in shuffled batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
PIECE_ROWS = 65_536
"""How many rows are permuted at a time by hand."""
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
    "`iter_batches` with threads; blocks of rows are permuted; Arrow strings",
    "polars",
    ["pyarrow.parquet"],
)
def with_pyarrow(home: Path, num_epochs: int) -> Iterator[Columns]:
    """Yields batches; blocks of rows are permuted, with what waits beside."""
    import pyarrow.parquet as pq

    generator = np.random.default_rng(1)
    waiting: list[Columns] = []
    count = 0
    for name in epochs_of(files_of(home), num_epochs):
        for piece in pq.ParquetFile(name).iter_batches(PIECE_ROWS):
            waiting.append(numbers_of(piece.column) | {TEXT: piece.column(TEXT)})
            count += piece.num_rows
            if count >= 2 * WINDOW:
                rows = permuted(waiting, generator)
                ready = (count - WINDOW) // BATCH_SIZE * BATCH_SIZE
                yield from cut(rows, ready)
                waiting = [{name: column[ready:] for name, column in rows.items()}]
                count -= ready
    yield from cut(permuted(waiting, generator), count)


def numbers_of(column: Callable[[str], Any]) -> Columns:
    """Returns the columns of numbers as arrays, out of those that a function returns by name."""
    return {name: column(name).to_numpy() for name in NUMBERS}


def permuted(waiting: Sequence[Columns], generator: np.random.Generator) -> Columns:
    """Returns all rows of some pieces, in random order."""
    import pyarrow as pa

    order = generator.permutation(sum(len(piece["id"]) for piece in waiting))
    columns = {name: np.concatenate([piece[name] for piece in waiting])[order] for name in NUMBERS}
    texts = pa.concat_arrays([piece[TEXT] for piece in waiting])
    return columns | {TEXT: texts.take(pa.array(order))}


def cut(rows: Columns, end: int) -> Iterator[Columns]:
    """Yields the first rows as batches."""
    for begin in range(0, end, BATCH_SIZE):
        stop = min(begin + BATCH_SIZE, end)
        yield {name: column[begin:stop] for name, column in rows.items()}


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
