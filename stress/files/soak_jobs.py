"""The data of a soak test: files, pipelines over them, and the expected value of each example."""

import functools
import gzip
import struct
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

import headrace as hr
from headrace.io.records import TFRecordWriter
from headrace.pipeline import Pipeline
from headrace.protos import Example

__all__ = ["BUCKET", "JOBS", "Job"]

BUCKET = "bucket"
NUM_DIGITS = 16_000
NUM_PIXELS = 784
NUM_PHOTOS = 240
NUM_TEXTS = 4_500
_PER_FILE = 300
_DAMAGED_EVERY = 50
_RAISING_EVERY = 97


@dataclass(frozen=True)
class Job:
    """A data set to train on.

    Attributes:
        name: The name in figures and failures.
        num_epochs: The number of epochs per cycle.
        write: Creates the files in a directory, and returns the files for a server by name.
        make: Returns the pipeline over the files in a directory and on the server, for a seed; None
            for the TensorFlow 1 program.
        given: Returns the numbers of the examples of a batch, and the CRC-32 of each.
        numbers: The numbers of the examples of an epoch.
        num_skipped: The number of examples that an epoch skips.
        sum_of: The checksum of the example with a number; None if it cannot be computed.
    """

    name: str
    num_epochs: int
    write: Callable[[Path], dict[str, bytes]]
    make: Callable[[Path, int], Pipeline] | None
    given: Callable[[dict[str, Any]], tuple[Any, Any]]
    numbers: Sequence[int]
    num_skipped: int = 0
    sum_of: Callable[[int], int] | None = None


def _pixels() -> npt.NDArray[np.uint8]:
    """Returns uint8, (NUM_DIGITS, NUM_PIXELS)."""
    return np.random.default_rng(1).integers(0, 256, (NUM_DIGITS, NUM_PIXELS), np.uint8)


def _write_digits(directory: Path) -> dict[str, bytes]:
    pixels = _pixels()
    for start in range(0, NUM_DIGITS, 2_000):
        with TFRecordWriter(directory / f"digits-{start:05}.tfrecord") as writer:
            for number in range(start, start + 2_000):
                example = Example()
                features = example.features.feature
                features["image"].bytes_list.value.append(pixels[number].tobytes())
                features["number"].int64_list.value.append(number)
                writer.write(example.SerializeToString())
    return {}


@hr.native
def _scaled(example: Any) -> Any:
    pixels = hr.ops.reshape(hr.ops.decode_raw(example["image"], "uint8"), [NUM_PIXELS])
    image = hr.ops.cast(pixels, "float32") * (1.0 / 255) - 0.5
    return {"image": image, "number": example["number"]}


def _digits(directory: Path, seed: int) -> Pipeline:
    records = hr.tfrecords(f"{directory}/digits-*").parse({"image": bytes, "number": int})
    return (
        records.map(_scaled).shuffle(window=10_000, seed=seed).epochs(DIGITS.num_epochs).batch(128)
    )


def _given_digits(batch: dict[str, Any]) -> tuple[Any, Any]:
    pixels = np.rint((batch["image"] + np.float32(0.5)) * 255).astype(np.uint8)
    return batch["number"], map(zlib.crc32, pixels)


@functools.cache
def _digit_sums() -> list[int]:
    return [zlib.crc32(row) for row in _pixels()]


def _sum_of_digit(number: int) -> int:
    return _digit_sums()[number]


def _write_photos(directory: Path) -> dict[str, bytes]:
    draws = np.random.default_rng(2)
    for number in range(NUM_PHOTOS):
        coarse = draws.integers(0, 256, (12, 16, 3), np.uint8)
        photo = Image.fromarray(coarse).resize((640, 480), Image.Resampling.BICUBIC)
        photo.save(directory / f"{number}.jpg", quality=90)
    return {}


@hr.native
def _decoded(example: Any) -> Any:
    image = hr.ops.decode_jpeg(example["data"], channels=3)
    image = hr.ops.cast(hr.ops.resize(image, [224, 224]), "uint8")
    return {"image": image, "path": example["path"]}


def _photos(directory: Path, seed: int) -> Pipeline:
    files = hr.files(f"{directory}/*.jpg").shuffle(seed=seed)
    return files.map(_decoded).epochs(PHOTOS.num_epochs).batch(16)


def _given_photos(batch: dict[str, Any]) -> tuple[Any, Any]:
    return [int(Path(path).stem) for path in batch["path"]], map(zlib.crc32, batch["image"])


def _text(number: int) -> str:
    """Returns the text of an example: its number, and text derived from the number."""
    return f"{number}:{Random(number).randbytes(number % 1_500).hex()}"


def _records(numbers: Sequence[int]) -> bytes:
    """Returns a TFRecord file of the texts."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "records")
        with TFRecordWriter(path) as writer:
            for number in numbers:
                example = Example()
                example.features.feature["text"].bytes_list.value.append(_text(number).encode())
                writer.write(example.SerializeToString())
        return path.read_bytes()


def _write_texts(directory: Path) -> dict[str, bytes]:
    """Writes texts: a third on the server, a third compressed, and a third damaged."""
    third = NUM_TEXTS // 3
    starts = range(0, third, _PER_FILE)
    remote = {
        f"{BUCKET}/texts-{start:04}": _records(range(start, start + _PER_FILE)) for start in starts
    }
    for start in range(third, 2 * third, _PER_FILE):
        path = directory / f"packed-{start}.tfrecord.gz"
        path.write_bytes(gzip.compress(_records(range(start, start + _PER_FILE))))
    for start in range(2 * third, NUM_TEXTS, _PER_FILE):
        data = bytearray(_records(range(start, start + _PER_FILE)))
        at = 0
        for number in range(start, start + _PER_FILE):
            (length,) = struct.unpack_from("<Q", data, at)
            if _is_damaged(number):
                data[at + 12 + length // 2] ^= 4
            at += 16 + length
        (directory / f"damaged-{start}.tfrecord").write_bytes(data)
    return remote


def _is_damaged(number: int) -> bool:
    return number >= NUM_TEXTS * 2 // 3 and number % _DAMAGED_EVERY == 7


def _measured(example: dict[str, Any]) -> dict[str, Any]:
    number = int(example["text"].partition(b":")[0])
    if number % _RAISING_EVERY == 5:
        raise ValueError(f"number {number} is not wanted")
    return {"number": number, "bytes": np.frombuffer(example["text"], np.uint8)}


def _texts(directory: Path, seed: int) -> Pipeline:
    patterns = (f"s3://{BUCKET}/texts-*", f"{directory}/packed-*", f"{directory}/damaged-*")
    parts = [hr.tfrecords(pattern).parse({"text": bytes}) for pattern in patterns]
    mixed = hr.concat(parts).shuffle(window=500, seed=seed).map(_measured).skip_errors(10**9)
    kept = mixed.epochs(TEXTS.num_epochs).padded_batch(32)
    return kept.options(cache_directory=directory / "cache", cache_bytes=1 << 20)


def _given_texts(batch: dict[str, Any]) -> tuple[Any, Any]:
    lengths = [len(_text(number)) for number in batch["number"].tolist()]
    rows = zip(batch["bytes"], lengths, strict=True)
    return batch["number"], (zlib.crc32(row[:length]) for row, length in rows)


def _sum_of_text(number: int) -> int:
    return zlib.crc32(_text(number).encode())


_KEPT = [n for n in range(NUM_TEXTS) if not _is_damaged(n) and n % _RAISING_EVERY != 5]
DIGITS = Job(
    "W1", 6, _write_digits, _digits, _given_digits, range(NUM_DIGITS), sum_of=_sum_of_digit
)
PHOTOS = Job("W3", 2, _write_photos, _photos, _given_photos, range(NUM_PHOTOS))
TEXTS = Job(
    "mixed",
    3,
    _write_texts,
    _texts,
    _given_texts,
    _KEPT,
    NUM_TEXTS - len(_KEPT),
    _sum_of_text,
)
QUEUES = Job(
    "TensorFlow 1", 2, _write_digits, None, _given_digits, range(NUM_DIGITS), sum_of=_sum_of_digit
)
JOBS = {job.name: job for job in (DIGITS, PHOTOS, TEXTS, QUEUES)}
