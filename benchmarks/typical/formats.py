"""Files of all formats through pipelines of all stages, each stopped in its middle and resumed."""

import bz2
import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
import headrace.tf1 as tf

NAMES = list("abcdefghijk")


def run(directory: Path, files: dict[str, list[str]]) -> None:
    """Takes all batches of each pipeline.

    Args:
        directory: Where more files are written.
        files: For each data set its files.
    """
    for pipeline in _pipelines(directory, files):
        count = sum(1 for _ in pipeline)
        batches = iter(pipeline)
        for _ in range(count // 2):
            next(batches)
        state = batches.state()
        batches.close()
        assert sum(1 for _ in pipeline.resume(state)) == count - count // 2


def _pipelines(directory: Path, files: dict[str, list[str]]) -> Iterator[hr.Pipeline]:
    text = Path(files["lines"][0]).read_bytes()
    for name, pack in (("gzip", gzip.compress), ("zlib", zlib.compress), ("bzip2", bz2.compress)):
        path = directory / name
        path.write_bytes(pack(text))
        yield hr.text_lines(path).batch(256)
    yield from _of_records(directory, files["examples"])
    yield from _of_numbers(directory, files["numbers"])
    archive = directory / "photos.tar"
    with tarfile.open(archive, "w") as tar:
        for number, photo in enumerate(files["photos"]):
            tar.add(photo, f"{number}.jpg")
            label = str(number).encode()
            member = tarfile.TarInfo(f"{number}.cls")
            member.size = len(label)
            tar.addfile(member, io.BytesIO(label))
    yield hr.webdataset(archive).shuffle(window=20).batch(16)
    yield hr.image_folder(directory / "photos").epochs(2).batch(16)
    yield hr.arrays({"x": np.arange(100_000), "y": np.ones((100_000, 3))}).shuffle().batch(64)


def _of_records(directory: Path, examples: list[str]) -> Iterator[hr.Pipeline]:
    for kind in ("GZIP", "ZLIB"):
        path = str(directory / f"records.{kind}")
        with tf.python_io.TFRecordWriter(path, tf.io.TFRecordOptions(kind)) as writer:
            for record in tf.python_io.tf_record_iterator(examples[0]):
                writer.write(record)
        yield hr.tfrecords(path).batch(128)
    features = {"image": bytes, "label": int}
    parsed = hr.tfrecords(examples).parse(features)
    ragged = parsed.map(_ids)
    yield parsed.shuffle().batch(128)
    named = hr.tfrecords(examples).with_origin().parse(features)
    yield named.map(_in_python).filter(_is_even).batch(128)
    yield parsed.shard(1, 3).skip(100).cache().epochs(2).batch(128, remainder="pad")
    yield hr.mix([parsed, parsed.skip(10)], weights=[0.3, 0.7], seed=1, stop="all").batch(64)
    yield ragged.bucket_by_length("ids", [4, 8], 32)
    yield ragged.padded_batch(32)
    yield ragged.select("ids").pack(64, "ids").batch(16)
    yield parsed.batch(32).unbatch().take(10_000).batch(48)


def _of_numbers(directory: Path, numbers: list[str]) -> Iterator[hr.Pipeline]:
    rows = [line.split(",") for line in Path(numbers[0]).read_text().splitlines()]
    titled, objects = directory / "titled.csv", directory / "objects.jsonl"
    titled.write_text("\n".join(f'{",".join(row)},"a, {row[0]}"' for row in [NAMES, *rows]))
    yield hr.csv(titled).batch(256)
    objects.write_text("\n".join(_json(row) for row in rows))
    yield hr.json_lines(objects).batch(256)


def _json(row: list[str]) -> str:
    values: list[Any] = [row[0], *map(float, row[1:])]
    return json.dumps(dict(zip(NAMES, values, strict=True)))


@hr.native
def _ids(example: dict[str, Any]) -> dict[str, Any]:
    count = example["label"] + 1
    return {"ids": hr.ops.range(count), "label": example["label"]}


def _in_python(example: dict[str, Any]) -> dict[str, Any]:
    return {"label": example["label"]}


def _is_even(example: dict[str, Any]) -> bool:
    return bool(example["label"] % 2 == 0)
