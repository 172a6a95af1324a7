"""`tf.contrib.learn.io`: batches of records and of arrays.

Source: `tf.contrib.learn.io` of TensorFlow 1.15.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.graph import Tensor, name_scope
from headrace.tf1 import gfile
from headrace.tf1.adapters.records import parse_example
from headrace.tf1.contrib.learn.generator import generator_input_fn
from headrace.tf1.estimator.inputs import numpy_input_fn, pandas_input_fn
from headrace.tf1.input import batch_join, shuffle_batch_join, string_input_producer
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.readers.reader import TFRecordReader

__all__ = [
    "generator_input_fn",
    "numpy_input_fn",
    "pandas_input_fn",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
]


def read_batch_examples(
    file_pattern: str | Sequence[str],
    batch_size: int,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Tensor], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Makes batches of the records of files. Adds queue runners to the graph.

    Args:
        file_pattern: Names of files or patterns of names: one, or a list.
        batch_size: Records of a batch.
        reader: A function that returns a reader.
        randomize_input: Whether files and records come in random order.
        num_epochs: The number of epochs, that is, of times that each file is read; None for no
            limit. The last batch may be smaller.
        queue_capacity: The number of records that the queue holds.
        num_threads: The number of files to read at the same time.
        read_batch_size: The number of records to read at a time.
        parse_fn: Called with a record before the queue; None to batch the records.
        name: Name scope of the operations.
        seed: The seed of the order.

    Returns:
        A batch: a string vector, or the batched results of `parse_fn`.

    Raises:
        ValueError: If there are no files, or numbers do not fit.
    """
    files = _files(file_pattern)
    if batch_size is None or not 0 < batch_size < queue_capacity:
        raise ValueError(f"Invalid batch_size {batch_size}, with queue_capacity {queue_capacity}.")
    for what, number in (("read_batch_size", read_batch_size), ("num_threads", num_threads)):
        if not number or number <= 0:
            raise ValueError(f"Invalid {what} {number}.")
    with name_scope(name, "read_batch_examples"):
        names = string_input_producer(
            files, num_epochs=num_epochs, shuffle=randomize_input, seed=seed, capacity=len(files)
        )
        examples = [_read(reader(), names, read_batch_size, parse_fn) for _ in range(num_threads)]
        enqueue_many = read_batch_size > 1 and parse_fn is None
        arguments: dict[str, Any] = {
            "capacity": queue_capacity,
            "enqueue_many": enqueue_many,
            "allow_smaller_final_batch": num_epochs is not None,
        }
        if not randomize_input:
            return batch_join(examples, batch_size, **arguments)
        kept_back = max(queue_capacity - max(num_threads, 1) * batch_size * 2, 0)
        return shuffle_batch_join(
            examples, batch_size, min_after_dequeue=kept_back, seed=seed, **arguments
        )


def read_batch_features(
    file_pattern: str | Sequence[str],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    name: str | None = None,
) -> dict[str, Any]:
    """Makes batches of the features of `tf.train.Example` records.

    Args:
        file_pattern: As for `read_batch_examples`, like all others.
        batch_size: See there.
        features: The features, as for `tf.parse_example`.
        reader: See there.
        randomize_input: See there.
        num_epochs: See there.
        queue_capacity: See there.
        reader_num_threads: The number of files to read at the same time.
        name: See there.

    Returns:
        A batch: the tensors of the features by their names.

    Raises:
        ValueError: As `read_batch_examples`.
    """
    with name_scope(name, "read_batch_features"):
        records = read_batch_examples(
            *(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity),
            num_threads=reader_num_threads,
        )
        found: dict[str, Any] = parse_example(records, features)
        return found


def read_batch_record_features(
    file_pattern: str | Sequence[str],
    batch_size: int,
    features: Mapping[str, Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    name: str | None = "dequeue_record_examples",
) -> dict[str, Any]:
    """Makes batches of the features of TFRecord files; see `read_batch_features`.

    Args:
        file_pattern: As for `read_batch_examples`, like all others.
        batch_size: See there.
        features: The features, as for `tf.parse_example`.
        randomize_input: See there.
        num_epochs: See there.
        queue_capacity: See there.
        reader_num_threads: The number of files to read at the same time.
        name: See there.

    Returns:
        A batch: the tensors of the features by their names.

    Raises:
        ValueError: As `read_batch_examples`.
    """
    return read_batch_features(
        file_pattern,
        batch_size,
        features,
        TFRecordReader,
        randomize_input,
        num_epochs,
        queue_capacity,
        reader_num_threads,
        name,
    )


def _read(
    reader: Any, names: Any, num_records: int, parse_fn: Callable[[Tensor], Any] | None
) -> Any:
    if num_records > 1 and parse_fn is None:
        return [reader.read_up_to(names, num_records)[1]]
    record = reader.read(names)[1]
    parsed = record if parse_fn is None else parse_fn(record)
    return parsed if isinstance(parsed, (dict, list, tuple)) else [parsed]


def _files(file_pattern: str | Sequence[str]) -> list[str]:
    patterns = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    files = sorted({file for pattern in patterns for file in gfile.Glob(pattern)})
    if not files:
        raise ValueError(f"No files match {file_pattern}.")
    return files


if not TYPE_CHECKING:  # Hidden from mypy, so that it reports wrong names.
    __getattr__, __dir__ = namespace(__name__, __all__)
