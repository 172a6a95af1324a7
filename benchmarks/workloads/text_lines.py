"""W5: short text lines, shuffled."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.libraries import (
    READ_BYTES,
    spdl_batches,
    tfdata_batches,
    tfdata_files,
    torch_batches,
)
from benchmarks.manual_loaders import POOL, epochs_of, lines_of, shuffled
from benchmarks.workload import Part, Workload

BATCH_SIZE = 1_024
NUM_FILES = 8
NUM_WORDS = 5_000


def make(home: Path, count: int) -> list[Part]:
    """Writes lines of words whose frequencies are as uneven as in natural language."""
    rng = np.random.default_rng(5)
    letters = rng.integers(ord("a"), ord("z") + 1, (NUM_WORDS, 8), dtype=np.uint8)
    words = [
        row[:length].tobytes()
        for row, length in zip(letters, rng.integers(2, 9, NUM_WORDS), strict=True)
    ]
    parts = []
    for number, (begin, end) in enumerate(bounds_of(count, NUM_FILES)):
        ends = rng.integers(2, 9, end - begin).cumsum()
        chosen = [words[rank % NUM_WORDS] for rank in rng.zipf(1.3, ends[-1]).tolist()]
        starts = [0, *ends[:-1].tolist()]
        texts = [b" ".join(chosen[i:j]) for i, j in zip(starts, ends.tolist(), strict=True)]
        name = f"lines-{number}.txt"
        (home / name).write_bytes(b"\n".join(texts) + b"\n")
        parts.append(Part([name], end - begin, [sum(map(len, texts))]))
    return parts


def sums_of(batch: Any) -> list[int]:
    """Sums the lengths of lines: bytes, (n,), or an Arrow array with 64-bit offsets."""
    if hasattr(batch, "buffers"):
        _, offsets, data = batch.buffers()
        ends = np.frombuffer(offsets, np.int64)
        return [len(batch), len(memoryview(data)[ends[0] : ends[-1]])]
    texts = batch.tolist() if isinstance(batch, np.ndarray) else batch
    return [len(texts), len(b"".join(texts))]


W5 = Workload(
    __name__,
    "W5",
    "lines",
    "Text lines of about 30 bytes: shuffle 10,000, batches of 1,024",
    "lines",
    sums_of,
    count=2_000_000,
    make=make,
    is_steady=True,
)


def pipeline(files: list[str], num_epochs: int | None, window: int | None = POOL) -> Any:
    """Returns the pipeline."""
    import headrace as hr

    return hr.text_lines(files).shuffle(window=window).epochs(num_epochs).batch(BATCH_SIZE)


PIPELINE = "`import headrace as hr`, one thread for each core"


@W5.program(
    "headrace-pipeline-arrow",
    "headrace, a pipeline, Arrow strings",
    f'{PIPELINE}; `options(strings="arrow")`',
    strings="arrow",
)
@W5.program("headrace-pipeline", "headrace, a pipeline", PIPELINE, strings="numpy")
def with_headrace(files: list[str], num_epochs: int, strings: str) -> Iterable[Any]:
    return (batch["text"] for batch in pipeline(files, num_epochs).options(strings=strings))


def read(tf: Any, names: Any) -> tuple[Any]:
    """Returns the tensor of a line."""
    _, line = tf.TextLineReader().read(names)
    return (line,)


@W5.tensorflow1(
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


@W5.tensorflow1("-best", "best program", "`read_up_to`, 1,024 at a time; two readers")
def many_at_a_time(tf: Any, files: list[str], num_epochs: int | None) -> Any:
    names = tf.train.string_input_producer(files, num_epochs=num_epochs)
    num_lines, num_readers = 1_024, 2
    return tf.train.shuffle_batch_join(
        [[tf.TextLineReader().read_up_to(names, num_lines)[1]] for _ in range(num_readers)],
        batch_size=BATCH_SIZE,
        capacity=POOL + (num_readers + 3) * num_lines,
        min_after_dequeue=POOL,
        enqueue_many=True,
        allow_smaller_final_batch=True,
    )


@W5.program("tf.data", "tf.data", "`AUTOTUNE`, in any order", "tensorflow")
def with_tfdata(files: list[str], num_epochs: int) -> Iterable[Any]:
    import tensorflow as tf

    lines = tfdata_files(
        files, num_epochs, lambda name: tf.data.TextLineDataset(name, None, READ_BYTES)
    )
    return tfdata_batches(lines.shuffle(POOL).batch(BATCH_SIZE))


def batches(files: Sequence[str], pool_size: int = POOL, seed: int = 0) -> Iterator[Any]:
    """Returns batches by hand."""
    return shuffled(lines_of(files), BATCH_SIZE, pool_size, seed)


@W5.program("numpy", "NumPy alone", "one thread; shuffled by hand", "numpy")
def with_numpy(files: list[str], num_epochs: int) -> Iterator[Any]:
    return batches(epochs_of(files, num_epochs))


@W5.program(
    "torch-alone",
    "PyTorch, no workers",
    "`DataLoader(num_workers=0)`; shuffled by hand",
    "torch",
    num_workers=0,
)
@W5.program(
    "torch-workers",
    "PyTorch, two workers",
    "`DataLoader(num_workers=2, prefetch_factor=4)`; shuffled by hand",
    "torch",
    num_workers=2,
)
def with_torch(files: list[str], num_epochs: int, num_workers: int) -> Iterable[Any]:
    return torch_batches(epochs_of(files, num_epochs), batches, num_workers)


@W5.program("spdl", "SPDL", "two threads, a sink of 8; shuffled by hand", "spdl", ["spdl.pipeline"])
def with_spdl(files: list[str], num_epochs: int) -> Iterator[Any]:
    return spdl_batches(batches(epochs_of(files, num_epochs)))


W5.limit("lines")
