"""W4: CSV lines of ten numbers and a label, parsed and shuffled."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.libraries import READ_BYTES, tfdata_batches, tfdata_files, torch_batches
from benchmarks.manual_loaders import POOL, Rows, epochs_of, shuffled_rows
from benchmarks.workload import Part, Workload

BATCH_SIZE = 256
NUM_FILES = 8
NUM_FEATURES = 10
LINE = ",".join(["%.6f"] * NUM_FEATURES + ["%d"])
FEATURES = [f"x{number}" for number in range(NUM_FEATURES)]
MICRO = 1e6
"""Numbers are written with six decimals, so multiplying them by a million yields integers."""


def make(home: Path, count: int) -> list[Part]:
    """Writes lines of normally distributed numbers and a label."""
    rng = np.random.default_rng(4)
    parts = []
    for number, (begin, end) in enumerate(bounds_of(count, NUM_FILES)):
        features = rng.standard_normal((end - begin, NUM_FEATURES)).round(6)
        labels = rng.integers(0, 10, end - begin)
        rows = zip(*features.T.tolist(), labels.tolist(), strict=True)
        name = f"numbers-{number}.csv"
        (home / name).write_text("".join(f"{LINE % row}\n" for row in rows))
        parts.append(Part([name], end - begin, sums_of((features, labels))[1:]))
    return parts


def sums_of(batch: Any) -> list[int]:
    """Sums features, float32, (n, 10), and labels, integers, (n,)."""
    features, labels = (np.asarray(component) for component in batch)
    ends = np.rint(features[:, :: NUM_FEATURES - 1] * MICRO).sum(axis=0, dtype=np.float64)
    return [len(labels), int(labels.sum()), int(ends[0]), int(ends[1])]


W4 = Workload(
    __name__,
    "W4",
    "numbers",
    "CSV lines of ten numbers and a label: parse, shuffle 10,000, batches of 256",
    "lines",
    sums_of,
    count=1_000_000,
    make=make,
    is_steady=True,
)


def pipeline(files: list[str], num_epochs: int | None, window: int | None = POOL) -> Any:
    """Returns the pipeline."""
    import headrace as hr

    @hr.native
    def together(batch: Any) -> Any:
        features = hr.ops.stack([batch[name] for name in FEATURES], axis=1)
        return {"features": features, "label": batch["label"]}

    lines = hr.csv(files, {**dict.fromkeys(FEATURES, float), "label": int}, header=False)
    return lines.shuffle(window=window).epochs(num_epochs).batch(BATCH_SIZE).map(together)


@W4.program(
    "headrace-pipeline", "headrace, a pipeline", "`import headrace as hr`, one thread for each core"
)
def with_headrace(files: list[str], num_epochs: int) -> Iterable[Any]:
    return ((batch["features"], batch["label"]) for batch in pipeline(files, num_epochs))


def read(tf: Any, names: Any) -> tuple[Any, Any]:
    """Returns tensors for a line's features, float32, (10,), and its label."""
    _, line = tf.TextLineReader().read(names)
    *columns, label = tf.decode_csv(line, record_defaults=[[0.0]] * NUM_FEATURES + [[0]])
    return tf.stack(columns), label


@W4.tensorflow1(
    "",
    "the TensorFlow 1 program",
    "one line at a time, as TensorFlow 1's guide writes it; `num_threads=4`",
)
def one_by_one(tf: Any, files: list[str], num_epochs: int | None) -> Any:
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    return tf.train.shuffle_batch(
        read(tf, names),
        batch_size=BATCH_SIZE,
        num_threads=4,
        capacity=POOL + 7 * BATCH_SIZE,
        min_after_dequeue=POOL,
        allow_smaller_final_batch=True,
    )


@W4.tensorflow1("-best", "best program", "`read_up_to`, 1,024 at a time; two readers")
def many_at_a_time(tf: Any, files: list[str], num_epochs: int | None) -> Any:
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    num_lines, num_readers = 1_024, 2

    def read_and_parse() -> list[Any]:
        _, lines = tf.TextLineReader().read_up_to(names, num_lines)
        *columns, labels = tf.decode_csv(lines, record_defaults=[[0.0]] * NUM_FEATURES + [[0]])
        return [tf.stack(columns, axis=1), labels]

    return tf.train.shuffle_batch_join(
        [read_and_parse() for _ in range(num_readers)],
        batch_size=BATCH_SIZE,
        capacity=POOL + (num_readers + 3) * num_lines,
        min_after_dequeue=POOL,
        enqueue_many=True,
        allow_smaller_final_batch=True,
    )


@W4.program(
    "tf.data",
    "tf.data",
    "`AUTOTUNE`, in any order; lines are shuffled, whole batches are parsed",
    "tensorflow",
)
def with_tfdata(files: list[str], num_epochs: int) -> Iterable[Any]:
    import tensorflow as tf

    defaults = [tf.constant(0.0)] * NUM_FEATURES + [tf.constant(0)]

    def parse(lines: Any) -> Any:
        *columns, labels = tf.io.decode_csv(lines, defaults)
        return tf.stack(columns, axis=1), labels

    lines = tfdata_files(
        files, num_epochs, lambda name: tf.data.TextLineDataset(name, None, READ_BYTES)
    )
    return tfdata_batches(lines.shuffle(POOL).batch(BATCH_SIZE).map(parse, tf.data.AUTOTUNE))


def arrow_blocks(files: Iterable[str], has_threads: bool) -> Iterator[Rows]:
    """Yields features, float32, (n, 10), and labels, int32, (n,), parsed by pyarrow."""
    import pyarrow as pa
    from pyarrow import csv

    types = dict.fromkeys(FEATURES, pa.float32()) | {"label": pa.int32()}
    for name in files:
        batches = csv.open_csv(
            name,
            csv.ReadOptions(column_names=list(types), use_threads=has_threads),
            convert_options=csv.ConvertOptions(column_types=types),
        )
        for batch in batches:
            features = np.empty((batch.num_rows, NUM_FEATURES), np.float32)
            for number in range(NUM_FEATURES):
                features[:, number] = batch.column(number).to_numpy()
            yield features, batch.column(NUM_FEATURES).to_numpy()


@W4.program("pyarrow", "pyarrow", "`open_csv` with threads; NumPy shuffles", "polars")
def with_pyarrow(files: list[str], num_epochs: int) -> Iterator[Rows]:
    blocks = arrow_blocks(epochs_of(files, num_epochs), has_threads=True)
    return shuffled_rows(blocks, BATCH_SIZE)


@W4.program("polars", "polars", "`read_csv`, a file at a time; NumPy shuffles", "polars")
def with_polars(files: list[str], num_epochs: int) -> Iterator[Rows]:
    import polars as pl

    schema = dict.fromkeys(FEATURES, pl.Float32) | {"label": pl.Int32}

    def blocks() -> Iterator[Rows]:
        for name in epochs_of(files, num_epochs):
            table = pl.read_csv(name, has_header=False, schema=schema)
            yield table.select(FEATURES).to_numpy(), table["label"].to_numpy()

    return shuffled_rows(blocks(), BATCH_SIZE)


@W4.program(
    "torch-alone",
    "PyTorch, no workers",
    "`DataLoader(num_workers=0)`; pyarrow parses, NumPy shuffles",
    "torch",
)
def with_torch(files: list[str], num_epochs: int) -> Iterable[Any]:
    def batches(share: Sequence[str], pool_size: int, seed: int) -> Iterator[Rows]:
        return shuffled_rows(arrow_blocks(share, has_threads=False), BATCH_SIZE, pool_size, seed)

    return torch_batches(epochs_of(files, num_epochs), batches, num_workers=0)


W4.limit("numbers")
