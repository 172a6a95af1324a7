"""Converts a data set to several TFRecord files, with one `Example` per digit.

`records_digits.py` reads these files. A file gets its name only once it is complete.
"""

import argparse
from pathlib import Path

import numpy as np
from digits import load

import headrace.tf1 as tf


def int64_feature(value: int) -> tf.train.Feature:
    """Returns a feature with one integer."""
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def bytes_feature(value: bytes) -> tf.train.Feature:
    """Returns a feature with one string of bytes."""
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def convert(images: np.ndarray, labels: np.ndarray, paths: list[Path]) -> None:
    """Distributes digits over files.

    Args:
        images: uint8, (digits, 784), 0 to 255.
        labels: int64, (digits,), 0 to 9.
        paths: The files.
    """
    for number, path in enumerate(paths):
        with tf.python_io.TFRecordWriter(str(path)) as writer:
            for index in range(number, len(labels), len(paths)):
                feature = {
                    "height": int64_feature(28),
                    "width": int64_feature(28),
                    "label": int64_feature(int(labels[index])),
                    "image_raw": bytes_feature(images[index].tobytes()),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())


def main(directory: Path, num_examples: int) -> None:
    """Writes the digits for training and testing to a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for part, (images, labels) in zip(("train", "test"), load(num_examples), strict=True):
        pixels = ((images + 0.13) * 255).round().astype(np.uint8)
        paths = [directory / f"{part}-{number}.tfrecords" for number in range(4)]
        convert(pixels, labels, paths)
        total = sum(path.stat().st_size for path in paths)
        print(f"{part}: {len(labels)} digits, {total:,} bytes in {len(paths)} files")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--examples", type=int, default=4_000)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.examples)
