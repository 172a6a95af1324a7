"""The demo's record files: their names, format, writer and pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import headrace as hr
from headrace.demo.model import NUM_PIXELS
from headrace.io.records import TFRecordWriter
from headrace.protos import Example

NUM_EXAMPLES = {"train": 4_000, "test": 1_000}
NUM_SHARDS = {"train": 8, "test": 2}
MEAN_PIXEL = 0.13
"""The mean of all pixels of the digits, where black is 0 and white is 1."""


def shard_paths(directory: Path, part: str) -> list[str]:
    """Returns the file paths of a part, ``"train"`` or ``"test"``."""
    count = NUM_SHARDS[part]
    return [str(directory / f"{part}-{shard:05}-of-{count:05}.tfrecord") for shard in range(count)]


def write_shards(
    directory: Path, part: str, images: NDArray[np.uint8], labels: NDArray[np.int64]
) -> None:
    """Writes one part. The example `id` goes to shard `id` modulo the number of shards.

    Args:
        directory: The directory of the files. Files of the same name are overwritten.
        part: ``"train"`` or ``"test"``.
        images: uint8, (examples, 784), 0 (black) to 255 (white).
        labels: int64, (examples,), 0 to 9.
    """
    paths = shard_paths(directory, part)
    for shard, path in enumerate(paths):
        with TFRecordWriter(path) as writer:
            for number in range(shard, len(labels), len(paths)):
                writer.write(_record(images[number].tobytes(), int(labels[number]), number))


def _record(image: bytes, label: int, number: int) -> bytes:
    example = Example()
    feature = example.features.feature
    feature["image"].bytes_list.value.append(image)
    feature["label"].int64_list.value.append(label)
    feature["id"].int64_list.value.append(number)
    return example.SerializeToString()


def digits(directory: Path, part: str) -> hr.Pipeline:
    """Returns a pipeline over one part. It opens no files before you iterate over it.

    Args:
        directory: The directory that `write_shards` wrote to.
        part: ``"train"`` or ``"test"``.

    Returns:
        Examples with the components ``image``, float32, (784,), scaled to a mean of about 0 and a
        range of 1; ``label``, int64, 0 to 9; ``id``, int64, counted from 0 in each part.
    """
    records = hr.tfrecords(shard_paths(directory, part))
    return records.parse({"image": bytes, "label": int, "id": int}).map(_decoded)


@hr.native
def _decoded(example: Mapping[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    pixels = hr.ops.reshape(hr.ops.decode_raw(example["image"], "uint8"), [NUM_PIXELS])
    image = hr.ops.cast(pixels, "float32") / 255 - MEAN_PIXEL
    return {**example, "image": image}


class SeenExamples:
    """Counts how often each example of a part was seen."""

    def __init__(self, part: str) -> None:
        self._counts = np.zeros(NUM_EXAMPLES[part], np.int64)

    def add(self, ids: Iterable[int]) -> None:
        """Counts a batch of IDs, each from 0 to the number of examples minus 1."""
        np.add.at(self._counts, np.asarray(ids), 1)

    def problem(self, num_epochs: int) -> str | None:
        """Returns a message if an example was not seen exactly once per epoch, otherwise None."""
        wrong = np.flatnonzero(self._counts != num_epochs)
        if not len(wrong):
            return None
        first = int(wrong[0])
        return (
            f"{len(wrong)} of {len(self._counts)} examples were not seen exactly {num_epochs} "
            f"times. The first of them has id {first} and was seen {self._counts[first]} times."
        )
