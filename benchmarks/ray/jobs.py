"""The measured jobs: W1 and W3 on data generated here, and batches of several sizes."""

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

import headrace as hr
from headrace.io.records import TFRecordWriter

__all__ = [
    "JOBS",
    "arrays_of",
    "digits",
    "make_digits",
    "make_photos",
    "photos",
    "records_of",
    "waiting",
]

NUM_DIGITS = 60_000
NUM_PHOTOS = 600
# The number of copies of each photo file.
NUM_COPIES = 4


@hr.native
def decode_digit(example):
    pixels = hr.ops.reshape(hr.ops.decode_raw(example["image"], "uint8"), [784])
    image = hr.ops.cast(pixels, "float32") * (1.0 / 255) - 0.5
    return {"image": image, "label": example["label"]}


@hr.native
def decode_photo(example):
    image = hr.ops.decode_jpeg(example["data"], channels=3)
    return {"image": hr.ops.cast(hr.ops.resize(image, [224, 224]), "uint8")}


def digits(directory: Path, shuffle: int | None = 10_000, num_epochs: int = 1) -> hr.Pipeline:
    """W1: parse, convert to float, shuffle, batches of 128."""
    parsed = hr.tfrecords(directory / "digits-*.tfrecord").parse({"image": bytes, "label": int})
    return parsed.map(decode_digit).shuffle(shuffle, seed=1).epochs(num_epochs).batch(128)


def photos(directory: Path, shuffle: int | None = None, num_epochs: int = 1) -> hr.Pipeline:
    """W3: decode, resize to 224 x 224, shuffle, batches of 64."""
    files = hr.files(directory / "photos").shuffle(shuffle, seed=1).epochs(num_epochs)
    return files.map(decode_photo).batch(64)


JOBS = {"W1": digits, "W3": photos}


def make_digits(directory: Path) -> None:
    """Writes random digits. Their content does not affect the time."""
    from headrace.protos import Example

    rng = np.random.default_rng(1)
    for number in range(4):
        with TFRecordWriter(directory / f"digits-{number}.tfrecord") as writer:
            for _ in range(NUM_DIGITS // 4):
                example = Example()
                features = example.features.feature
                features["image"].bytes_list.value.append(rng.bytes(784))
                features["label"].int64_list.value.append(int(rng.integers(10)))
                writer.write(example.SerializeToString())


def make_photos(directory: Path) -> None:
    """Writes 640 x 480 photos: a smooth scene with camera-like noise."""
    rng = np.random.default_rng(2)
    home = directory / "photos"
    home.mkdir()
    for number in range(NUM_PHOTOS):
        small = rng.uniform(0, 255, (12, 16, 3)).astype(np.uint8)
        scene = np.asarray(Image.fromarray(small).resize((640, 480), Image.Resampling.BICUBIC))
        noisy = (scene + rng.normal(0, 6, scene.shape)).clip(0, 255).astype(np.uint8)
        file = io.BytesIO()
        Image.fromarray(noisy).save(file, "JPEG", quality=90)
        for copy in range(NUM_COPIES):
            (home / f"{copy}-{number:04}.jpg").write_bytes(file.getvalue())


def records_of(data: bytes) -> Iterator[bytes]:
    """Yields the records of a TFRecord file, like programs without a reader."""
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        yield data[position + 12 : position + 12 + length]
        position += 16 + length


def arrays_of(batch_bytes: int, num_batches: int) -> hr.Pipeline:
    """Batches of equal size that take almost no time to make."""
    rows = 16
    row = np.ones((rows * 16, max(batch_bytes // rows, 1)), np.uint8)
    return hr.arrays({"x": row}).epochs(num_batches // 16).batch(rows)


class Wait:
    """Waits for each batch without using the CPU, as if another host did the work."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, batch):
        import time

        time.sleep(self.seconds)
        return batch


def waiting(seconds: float, batch_bytes: int, num_batches: int) -> hr.Pipeline:
    """Batches that take each reader a fixed time."""
    return arrays_of(batch_bytes, num_batches).map(Wait(seconds))
