"""Programs as in TensorFlow 1's guides, each with a time limit."""

from pathlib import Path
from typing import Any

import pytest

import headrace.tf1 as tf

SECONDS = 20


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture
def squares(tmp_path: Path) -> list[str]:
    """Three files of ten records each: a number from 0 to 29 and its square."""
    paths = [str(tmp_path / f"squares-{part}.tfrecords") for part in range(3)]
    for part, path in enumerate(paths):
        with tf.python_io.TFRecordWriter(path) as writer:
            for number in range(10 * part, 10 * part + 10):
                writer.write(_example(number).SerializeToString())
    return paths


def _example(number: int) -> Any:
    def feature(value: int) -> Any:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

    features = {"number": feature(number), "square": feature(number**2)}
    return tf.train.Example(features=tf.train.Features(feature=features))
