"""Pipelines whose memory is measured: the programs of W1 to W5, and what is hard on memory."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
from benchmarks.pipelines import dataset
from benchmarks.pipelines.pipeline import examples, images, lines, numbers, photos
from headrace.io.records import TFRecordWriter
from headrace.protos import Example

Pipeline = Any
"""`headrace.pipeline.Pipeline`, without a window of its own."""

MODULES: dict[str, Any] = {
    "examples": examples,
    "images": images,
    "augmented_images": images,
    "numbers": numbers,
    "lines": lines,
}


def workload(task: str, window: int) -> Pipeline:
    """One of W1, W2, W4 and W5, as the benchmark has it but for the window."""
    module = MODULES[task]
    module.WINDOW = window
    make = {"images": images.images, "augmented_images": images.augmented_images}
    return make.get(task, getattr(module, task, None))(_files(dataset.stem_of(task)), None)


def folder(task: str, window: int) -> Pipeline:
    """W3, as the benchmark has it but for the window; 0 for all photos."""
    files = hr.files(_files("photos")).shuffle(window=window or None).epochs()
    return files.map(photos.decode).batch(photos.BATCH_SIZE)


def scaled(example: dict[str, Any]) -> dict[str, Any]:
    """Makes floats of a digit in Python: four bytes of each."""
    pixels = np.frombuffer(example["image"], np.uint8)
    return {"image": pixels.astype(np.float32) / 255, "label": example["label"]}


def python_function(task: str, window: int) -> Pipeline:
    """Digits that a Python function scales, after the window."""
    records = hr.tfrecords(_files("examples")).parse({"image": bytes, "label": int})
    return records.shuffle(window=window).map(scaled).epochs().batch(128)


def enlarged(example: dict[str, Any]) -> dict[str, Any]:
    """Makes a megabyte of a line."""
    return {"array": np.full((512, 512), len(example["text"]), np.float32)}


def large_results(task: str, window: int) -> Pipeline:
    """Lines, of each of which a Python function makes a megabyte."""
    return hr.text_lines(_files("lines")).shuffle(window=window).map(enlarged).epochs().batch(4)


def iterable(task: str, window: int) -> Pipeline:
    """Megabytes that an iterator yields."""
    made = hr.iterable(lambda: ({"x": np.full(1 << 18, n, np.float32)} for n in range(1 << 20)))
    return made.batch(4)


def buckets(task: str, window: int) -> Pipeline:
    """Lists of which long ones are rare, by their lengths."""
    records = hr.tfrecords([_lists()]).parse({"list": hr.Ragged(int)}).shuffle(window=window)
    return records.epochs().bucket_by_length("list", [8, 64, 128, 256, 512], size=512)


def padded(task: str, window: int) -> Pipeline:
    """Lists of which long ones are rare, filled up."""
    records = hr.tfrecords([_lists()]).parse({"list": hr.Ragged(int)}).shuffle(window=window)
    return records.epochs().padded_batch(64)


def sharded(task: str, window: int) -> Pipeline:
    """Few examples of each block."""
    module = MODULES["images"]
    records = hr.fixed_length_records(_files("images"), module.RECORD_BYTES).epochs()
    return records.shard(0, 64).batch(128)


def full_shuffle(task: str, window: int) -> Pipeline:
    """All digits in another order, through an index."""
    records = hr.tfrecords(_files("examples")).parse({"image": bytes, "label": int})
    return records.map(examples.decode).shuffle().epochs().batch(128)


def parquet(task: str, window: int) -> Pipeline:
    """Rows of a Parquet file of one large row group."""
    return hr.parquet([_table()]).shuffle(window=window).epochs().batch(256)


CASES: dict[str, tuple[Callable[[str, int], Pipeline], Sequence[int]]] = {
    "examples": (workload, (10_000, 100_000)),
    "images": (workload, (10_000, 100_000)),
    "augmented_images": (workload, (10_000,)),
    "photos": (folder, (100, 1_000, 0)),
    "numbers": (workload, (10_000, 100_000)),
    "lines": (workload, (10_000, 100_000)),
    "Python function": (python_function, (10_000,)),
    "large results": (large_results, (1_000,)),
    "iterable": (iterable, (0,)),
    "buckets": (buckets, (1_000,)),
    "padded": (padded, (1_000,)),
    "shard": (sharded, (0,)),
    "full shuffle": (full_shuffle, (0,)),
    "parquet": (parquet, (1_000,)),
}
"""What makes each, and the windows with which it is measured; 0 for none."""


def make(case: str, window: int, memory_bytes: int | None) -> Pipeline:
    """Returns a pipeline that continues for ever, with two threads."""
    pipeline = CASES[case][0](case, window)
    return pipeline.options(num_threads=2, memory_bytes=memory_bytes)


def _files(stem: str) -> list[str]:
    parts = dataset.parts_of(stem)
    return dataset.select(stem, parts, len(parts)).files


def _once(name: str, write: Callable[[Path], None]) -> str:
    """Returns the path of a file that is written if it is not there."""
    path = dataset.ROOT / "memory" / name
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
        import pyarrow  # noqa: PLC0415 - an extra
        import pyarrow.parquet  # noqa: PLC0415

        numbers = np.random.default_rng(0).random((200_000, 100), np.float32)
        columns = {f"x{index}": numbers[:, index] for index in range(100)}
        table = pyarrow.table(columns)
        pyarrow.parquet.write_table(table, path, row_group_size=len(numbers), use_dictionary=False)

    return _once("table.parquet", write)
