"""W1 and W3 by Ray Data alone, as tensors of PyTorch.

Apart from what needs PyTorch here: Ray's tasks import this module.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import ray

from benchmarks.ray import jobs

__all__ = ["RAY_DATA"]


def images_and_labels(images: list[bytes], labels: Any) -> dict[str, np.ndarray]:
    """Returns what the pipeline of W1 makes of digits."""
    pixels = np.frombuffer(b"".join(images), np.uint8).reshape(-1, 784)
    return {"image": pixels * np.float32(1 / 255) - np.float32(0.5), "label": np.array(labels)}


def files_of_digits(directory: Path) -> list[str]:
    return [str(path) for path in sorted(directory.glob("digits-*.tfrecord"))]


def batches_of_digits(dataset: Any) -> Iterator[dict[str, Any]]:
    return iter(dataset.iter_torch_batches(batch_size=128, local_shuffle_buffer_size=10_000))


def digits_by_reader(directory: Path) -> Iterator[dict[str, Any]]:
    """W1 with Ray Data's reader of TFRecords, which parses with TensorFlow."""

    def convert(block):
        return images_and_labels(list(block["image"]), block["label"])

    dataset = ray.data.read_tfrecords(files_of_digits(directory), override_num_blocks=4)
    return batches_of_digits(dataset.map_batches(convert, batch_size=1024))


def digits_by_hand(directory: Path) -> Iterator[dict[str, Any]]:
    """W1 with Ray Data's reader of bytes: records are cut out and parsed by this program."""

    def parse(block):
        from headrace.protos import Example  # noqa: PLC0415  (in a task)

        for data in block["bytes"]:
            images, labels = [], []
            for record in jobs.records_of(data):
                features = Example.FromString(record).features.feature
                images.append(features["image"].bytes_list.value[0])
                labels.append(features["label"].int64_list.value[0])
            yield images_and_labels(images, labels)

    dataset = ray.data.read_binary_files(files_of_digits(directory), override_num_blocks=4)
    return batches_of_digits(dataset.map_batches(parse, batch_size=1))


def photos_by_reader(directory: Path) -> Iterator[dict[str, Any]]:
    """W3 with Ray Data's reader of images."""
    dataset = ray.data.read_images(str(directory / "photos"), size=(224, 224), mode="RGB")
    return iter(dataset.iter_torch_batches(batch_size=64, local_shuffle_buffer_size=200))


RAY_DATA = {
    "W1": {"Ray Data, read_tfrecords": digits_by_reader, "Ray Data, by hand": digits_by_hand},
    "W3": {"Ray Data": photos_by_reader},
}
