"""W10: rows of Parquet files in shuffled batches, with numbers only or also with strings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
"""The minimum number of rows that hand-written loops add to the leftover rows before permuting
them."""
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
    """Sums arrays by name: float32 features, int64 `id` and `label`, (n,), and strings."""
    ids, labels = batch["id"], batch["label"]
    features = sum(int(batch[name].sum(dtype=np.float64) * FRACTION) for name in FEATURES)
    texts = [text_bytes(batch[TEXT])] if TEXT in batch else []
    return [len(ids), int(ids.sum()), int(ids @ labels), features, *texts]


def workload(task: str, title: str) -> Workload:
    """Returns the workload for a kind of batches. All of them read the same files."""
    return Workload(
        __name__,
        "W10",
        task,
        f"Parquet, {title}: shuffle 100,000, three epochs, batches of 4,096",
        "rows",
        sums_of,
        count=2_000_000,
        make=make,
        num_epochs=3,
    )


W10 = workload("rows", "eleven columns, one of strings")
W10_NUMBERS = workload("numbers", "ten columns of numbers")
W10_OBJECTS = workload("objects", "eleven columns, one of `str` objects")
EVERYTHING = [*NUMBERS, TEXT]


@W10_NUMBERS.program("headrace", "headrace", "`hr.parquet`, a window", columns=NUMBERS)
@W10_NUMBERS.program(
    "headrace-ordered", "headrace, not shuffled", "`hr.parquet`", columns=NUMBERS, window=None
)
@W10_OBJECTS.program("headrace", "headrace", "`hr.parquet`, a window", columns=EVERYTHING)
@W10.program(
    "headrace",
    "headrace, Arrow strings",
    '`hr.parquet`, a window, `options(strings="arrow")`; one thread for each core',
    columns=EVERYTHING,
    strings="arrow",
)
def with_headrace(
    home: Path,
    num_epochs: int,
    columns: Sequence[str],
    window: int | None = WINDOW,
    strings: str = "numpy",
) -> Iterable[Any]:
    import headrace as hr

    rows = hr.parquet(files_of(home), columns)
    rows = rows if window is None else rows.shuffle(window=window, seed=1)
    return rows.epochs(num_epochs).batch(BATCH_SIZE).options(strings=strings)


W10.limit("parquet_rows")


HAND = "pyarrow and NumPy by hand"
HAND_SETTING = "`to_batches` with threads; 100,000 rows and the next 131,072 are permuted by `take`"


@W10.program(
    BY_HAND,
    HAND,
    f"{HAND_SETTING}; Arrow strings",
    "polars",
    ["pyarrow.dataset"],
    columns=EVERYTHING,
    keeps_arrow=True,
)
@W10_NUMBERS.program(BY_HAND, HAND, HAND_SETTING, "polars", ["pyarrow.dataset"], columns=NUMBERS)
@W10_OBJECTS.program(BY_HAND, HAND, HAND_SETTING, "polars", ["pyarrow.dataset"], columns=EVERYTHING)
def with_pyarrow(
    home: Path, num_epochs: int, columns: Sequence[str], keeps_arrow: bool = False
) -> Iterator[Columns]:
    """Yields batches. Blocks of rows are permuted together with leftover rows."""
    import pyarrow.dataset as ds

    def blocks() -> Iterator[Any]:
        return ds.dataset(files_of(home)).to_batches(columns=columns, batch_size=PIECE_ROWS)

    epochs = chain.from_iterable(blocks() for _ in range(num_epochs))
    for rows in permuted_tables(epochs, np.random.default_rng(1)):
        yield {
            name: column if keeps_arrow and name == TEXT else column.to_numpy()
            for name, column in zip(columns, rows.columns, strict=True)
        }


def permuted_tables(blocks: Iterable[Any], generator: np.random.Generator) -> Iterator[Any]:
    """Yields tables of `BATCH_SIZE` rows, and a final table with the rest.

    The `WINDOW` leftover rows are permuted together with the next `PIECE_ROWS` or more, and all but
    `WINDOW` rows are yielded.
    """
    import pyarrow as pa

    waiting: list[Any] = []
    count = 0
    for block in blocks:
        waiting.append(pa.Table.from_batches([block]))
        count += len(block)
        if count >= WINDOW + PIECE_ROWS:
            rows = permuted(pa.concat_tables(waiting), generator)
            ready = (count - WINDOW) // BATCH_SIZE * BATCH_SIZE
            yield from cut(rows, ready)
            waiting = [rows.slice(ready)]
            count -= ready
    if waiting:
        rows = permuted(pa.concat_tables(waiting), generator)
        yield from cut(rows, len(rows))


def permuted(rows: Any, generator: np.random.Generator) -> Any:
    """Returns a table's rows in random order, with contiguous columns."""
    return rows.take(generator.permutation(len(rows))).combine_chunks()


def cut(rows: Any, end: int) -> Iterator[Any]:
    """Yields the first rows of a table as batches."""
    for begin in range(0, end, BATCH_SIZE):
        yield rows.slice(begin, min(BATCH_SIZE, end - begin))


def numbers_of(column: Callable[[str], Any]) -> Columns:
    """Returns the number columns as arrays, using a function that returns a column by name."""
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
