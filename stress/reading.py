"""TensorFlow 1 readers for the stress tests, and comparison of results."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import headrace.tf1 as tf
from stress.files.formats import number_in

__all__ = ["difference", "number_of_record", "read_lines"]


def number_of_record(record: bytes) -> int | None:
    """Returns the number of an example from its record."""
    return number_in(
        tf.train.Example.FromString(record).features.feature["text"].bytes_list.value[0]
    )


def read_lines(paths: Sequence[Path | str]) -> Iterator[bytes]:
    """Yields the lines of files, read by the standard TensorFlow 1 program with one thread."""
    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.FIFOQueue(len(paths), [tf.string], [[]])
        line = tf.TextLineReader().read(names).value
        session.run(names.enqueue_many([[str(path) for path in paths]]))
        session.run(names.close())
        while True:
            try:
                yield session.run(line)
            except tf.errors.OutOfRangeError:
                return


def difference(actual: Sequence[int | None], expected: Sequence[int | None]) -> str:
    """Describes the first difference between two lists of examples."""
    pairs = enumerate(zip(actual, expected, strict=False))
    at = next((at for at, (one, two) in pairs if one != two), min(len(actual), len(expected)))
    return (
        f"{len(actual)} examples, {len(expected)} expected; number {at} is "
        f"{list(actual[at : at + 3])}, expected {list(expected[at : at + 3])}"
    )
