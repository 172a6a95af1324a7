"""Pipelines for memory measurements: the programs of W1 to W5, and demanding cases.

`python -m benchmarks.memory.pipelines CASE WINDOW MEMORY_BYTES` iterates over a pipeline while
another process watches its memory. After importing everything and running a tiny pipeline, it
prints `ready` and waits for a line. Then it iterates and prints a line of JSON: the number of
batches, the size of the largest batch, and the error if there was one.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
from benchmarks import dataset
from benchmarks.memory import watching
from benchmarks.workload import Workload
from benchmarks.workloads import cifar, csv_lines, digits, photos, text_lines
from headrace.io.records import TFRecordWriter
from headrace.protos import Example

SHARE = 1.1
"""The fraction of `memory_bytes` that a pipeline may use, in addition to the program's batch."""

Pipeline = Any
"""`headrace.pipeline.Pipeline`."""


def workload(described: Workload, pipeline: Callable[..., Pipeline], window: int) -> Pipeline:
    """A workload's benchmark pipeline with a different window, or without a window if 0."""
    return pipeline(dataset.files_of(described), None, window=window or None)


def scaled(example: dict[str, Any]) -> dict[str, Any]:
    """Converts a digit to floats in Python, four bytes from each byte."""
    pixels = np.frombuffer(example["image"], np.uint8)
    return {"image": pixels.astype(np.float32) / 255, "label": example["label"]}


def python_function(window: int) -> Pipeline:
    """Digits, scaled by a Python function after the window."""
    records = hr.tfrecords(dataset.files_of(digits.W1)).parse({"image": bytes, "label": int})
    return records.shuffle(window=window).map(scaled).epochs().batch(128)


def enlarged(example: dict[str, Any]) -> dict[str, Any]:
    """Turns a line into a megabyte."""
    return {"array": np.full((512, 512), len(example["text"]), np.float32)}


def large_results(window: int) -> Pipeline:
    """Lines, each turned into a megabyte by a Python function."""
    return (
        hr.text_lines(dataset.files_of(text_lines.W5))
        .shuffle(window=window)
        .map(enlarged)
        .epochs()
        .batch(4)
    )


def iterable(window: int) -> Pipeline:
    """Megabytes that an iterator yields."""
    arrays = hr.iterable(lambda: ({"x": np.full(1 << 18, n, np.float32)} for n in range(1 << 20)))
    return arrays.batch(4)


def buckets(window: int) -> Pipeline:
    """Lists, only a few of them long, grouped by length."""
    records = hr.tfrecords([_lists()]).parse({"list": hr.Ragged(int)}).shuffle(window=window)
    return records.epochs().bucket_by_length("list", [8, 64, 128, 256, 512], size=512)


def padded(window: int) -> Pipeline:
    """Padded lists, only a few of them long."""
    records = hr.tfrecords([_lists()]).parse({"list": hr.Ragged(int)}).shuffle(window=window)
    return records.epochs().padded_batch(64)


def sharded(window: int) -> Pipeline:
    """A few examples from each block."""
    files = dataset.files_of(cifar.W2)
    records = hr.fixed_length_records(files, cifar.RECORD_BYTES).epochs()
    return records.shard(0, 64).batch(128)


def parquet(window: int) -> Pipeline:
    """Rows of a Parquet file with one large row group."""
    return hr.parquet([_table()]).shuffle(window=window).epochs().batch(256)


CASES: dict[str, tuple[Callable[[int], Pipeline], Sequence[int]]] = {
    "digits": (partial(workload, digits.W1, digits.pipeline), (10_000, 100_000)),
    "images": (
        partial(workload, cifar.W2, partial(cifar.pipeline, is_augmented=False)),
        (10_000, 100_000),
    ),
    "augmented images": (
        partial(workload, cifar.W2, partial(cifar.pipeline, is_augmented=True)),
        (10_000,),
    ),
    "photos": (partial(workload, photos.W3, photos.pipeline), (100, 1_000, 0)),
    "numbers": (partial(workload, csv_lines.W4, csv_lines.pipeline), (10_000, 100_000)),
    "lines": (partial(workload, text_lines.W5, text_lines.pipeline), (10_000, 100_000)),
    "Python function": (python_function, (10_000,)),
    "large results": (large_results, (1_000,)),
    "iterable": (iterable, (0,)),
    "buckets": (buckets, (1_000,)),
    "padded": (padded, (1_000,)),
    "shard": (sharded, (0,)),
    "full shuffle": (partial(workload, digits.W1, digits.pipeline), (0,)),
    "parquet": (parquet, (1_000,)),
}
"""The function for each case, and the measured windows. 0 for no window."""


def make(case: str, window: int, memory_bytes: int | None) -> Pipeline:
    """Returns an endless pipeline with two threads."""
    pipeline = CASES[case][0](window)
    return pipeline.options(num_threads=2, memory_bytes=memory_bytes)


def _once(name: str, write: Callable[[Path], None]) -> str:
    """Returns a file's path, and writes the file if it does not exist."""
    path = dataset.HOME / "memory" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        write(part)
        os.replace(part, path)
    return str(path)


def _lists() -> str:
    def write(path: Path) -> None:
        lengths = np.minimum(np.random.default_rng(0).zipf(1.3, 50_000), 1_000)
        with TFRecordWriter(str(path)) as writer:
            for length in lengths.tolist():
                example = Example()
                example.features.feature["list"].int64_list.value.extend([length] * length)
                writer.write(example.SerializeToString())

    return _once("lists.tfrecord", write)


def _table() -> str:
    def write(path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        numbers = np.random.default_rng(0).random((200_000, 100), np.float32)
        columns = {f"x{index}": numbers[:, index] for index in range(100)}
        table = pyarrow.table(columns)
        pyarrow.parquet.write_table(table, path, row_group_size=len(numbers), use_dictionary=False)

    return _once("table.parquet", write)


@dataclass(frozen=True)
class Growth:
    """The measured growth of memory.

    Attributes:
        most_bytes: The largest growth of heaps and stacks.
        batch_bytes: The size of the largest batch.
        num_batches: The number of batches.
        error: The error that ended the iteration, or "" if the time was over.
    """

    most_bytes: int
    batch_bytes: int
    num_batches: int
    error: str

    def allowed_bytes(self, memory_bytes: int) -> int:
        """Returns the allowed growth."""
        return int(memory_bytes * SHARE) + self.batch_bytes


def measure(case: str, window: int, memory_bytes: int, seconds: float) -> Growth:
    """Runs a case in a separate process.

    Args:
        case: A key of `CASES`.
        window: One of the case's windows.
        memory_bytes: As in `options`. 0 for the default.
        seconds: The duration of the run.
    """
    arguments = [case, str(window), str(memory_bytes), "--seconds", str(seconds)]
    most_bytes, line = watching.growth("-m", "benchmarks.memory.pipelines", *arguments)
    figures = json.loads(line)
    return Growth(most_bytes, figures["batch_bytes"], figures["batches"], figures.get("error", ""))


def size_of(batch: dict[str, Any]) -> int:
    """Returns the size of a batch in bytes, including its strings."""
    return sum(map(_array_bytes, batch.values()))


def _array_bytes(array: Any) -> int:
    objects = sum(map(sys.getsizeof, array.ravel())) if array.dtype == object else 0
    return int(array.nbytes) + objects


def iterate(pipeline: Any, seconds: float) -> dict[str, Any]:
    """Takes batches for some seconds."""
    end = time.monotonic() + seconds
    num_batches = num_examples = largest = 0
    try:
        with iter(pipeline) as batches:
            for batch in batches:
                num_batches += 1
                num_examples += len(next(iter(batch.values())))
                largest = max(largest, size_of(batch))
                if time.monotonic() > end:
                    break
    except hr.errors.ResourceExhaustedError as error:
        return {"error": str(error), "batches": num_batches, "batch_bytes": largest}
    return {"batches": num_batches, "examples": num_examples, "batch_bytes": largest}


def main() -> None:
    """Iterates over the pipeline selected by the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    parser.add_argument("window", type=int)
    parser.add_argument("memory_bytes", type=int, help="0 for the default")
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    pipeline = make(arguments.case, arguments.window, arguments.memory_bytes or None)
    if arguments.case == "parquet":
        pipeline.spec  # noqa: B018 - loads pyarrow
    tiny = hr.arrays({"x": np.arange(8)}).map(lambda example: example).shuffle(window=4, seed=1)
    list(tiny.batch(2))
    print(watching.READY, flush=True)
    sys.stdin.readline()
    print(json.dumps(iterate(pipeline, arguments.seconds)), flush=True)


if __name__ == "__main__":
    main()
