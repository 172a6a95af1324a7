"""`tf.contrib.learn.io`: batches of records and of arrays.

Source: `tf.contrib.learn.io` in TensorFlow 1.15.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from headrace.graph import Tensor, name_scope
from headrace.ops.math.cast import cast
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1 import gfile
from headrace.tf1.adapters.records import parse_example
from headrace.tf1.contrib.learn.generator import generator_input_fn
from headrace.tf1.estimator.inputs import numpy_input_fn, pandas_input_fn
from headrace.tf1.input import batch_join, shuffle_batch_join, string_input_producer
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.queues import FIFOQueue
from headrace.tf1.ops.readers.reader import TFRecordReader
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = [
    "generator_input_fn",
    "numpy_input_fn",
    "pandas_input_fn",
    "queue_parsed_features",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_examples_shared_queue",
    "read_keyed_batch_features",
    "read_keyed_batch_features_shared_queue",
]

# The name of the keys among the tensors that `parse_fn` returns.
_KEY: Final = "__key__"


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
    """Creates batches of records from files. Adds queue runners to the graph.

    Args:
        file_pattern: A file name or pattern, or a list of these.
        batch_size: The number of records in a batch.
        reader: A function that returns a reader.
        randomize_input: Whether files and records are in random order.
        num_epochs: The number of epochs, that is, how often each file is read. Defaults to no
            limit. The last batch may be smaller.
        queue_capacity: The maximum number of records in the queue.
        num_threads: The number of files to read at the same time.
        read_batch_size: The number of records to read at a time.
        parse_fn: The function to call with each record before it enters the queue. By default,
            records are not parsed.
        name: Name scope of the operations.
        seed: The seed of the order.

    Returns:
        A batch: a string vector, or the batched results of `parse_fn`.

    Raises:
        ValueError: If there are no files, or a number is out of range.
    """
    return read_keyed_batch_examples(
        *(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity),
        *(num_threads, read_batch_size, parse_fn, name, seed),
    )[1]


def read_keyed_batch_examples(
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
) -> tuple[Tensor, Any]:
    """Creates batches of records from files, with their keys; see `read_batch_examples`.

    Args:
        file_pattern: See `read_batch_examples`.
        batch_size: See `read_batch_examples`.
        reader: See `read_batch_examples`.
        randomize_input: See `read_batch_examples`.
        num_epochs: See `read_batch_examples`.
        queue_capacity: See `read_batch_examples`.
        num_threads: See `read_batch_examples`.
        read_batch_size: See `read_batch_examples`.
        parse_fn: See `read_batch_examples`.
        name: See `read_batch_examples`.
        seed: See `read_batch_examples`.

    Returns:
        The record keys of a batch, a string vector, and the batch.

    Raises:
        ValueError: See `read_batch_examples`.
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
        if randomize_input:
            kept_back = max(queue_capacity - max(num_threads, 1) * batch_size * 2, 0)
            batch = shuffle_batch_join(
                examples, batch_size, min_after_dequeue=kept_back, seed=seed, **arguments
            )
        else:
            batch = batch_join(examples, batch_size, **arguments)
        if isinstance(batch, dict):
            return batch.pop(_KEY), batch
        keys, *parsed = batch
        return keys, parsed[0] if len(parsed) == 1 else parsed


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
    """Creates batches of features from `tf.train.Example` records.

    Args:
        file_pattern: See `read_batch_examples`.
        batch_size: See `read_batch_examples`.
        features: The features, as for `tf.parse_example`.
        reader: See `read_batch_examples`.
        randomize_input: See `read_batch_examples`.
        num_epochs: See `read_batch_examples`.
        queue_capacity: See `read_batch_examples`.
        reader_num_threads: The number of files to read at the same time.
        name: See `read_batch_examples`.

    Returns:
        A batch, as a dict from feature name to tensor.

    Raises:
        ValueError: See `read_batch_examples`.
    """
    with name_scope(name, "read_batch_features"):
        records = read_batch_examples(
            *(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity),
            num_threads=reader_num_threads,
        )
        tensors: dict[str, Any] = parse_example(records, features)
        return tensors


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
    """Creates batches of features from TFRecord files; see `read_batch_features`.

    Args:
        file_pattern: See `read_batch_examples`.
        batch_size: See `read_batch_examples`.
        features: The features, as for `tf.parse_example`.
        randomize_input: See `read_batch_examples`.
        num_epochs: See `read_batch_examples`.
        queue_capacity: See `read_batch_examples`.
        reader_num_threads: The number of files to read at the same time.
        name: See `read_batch_examples`.

    Returns:
        A batch: the feature tensors by name.

    Raises:
        ValueError: See `read_batch_examples`.
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


def read_keyed_batch_features(
    file_pattern: str | Sequence[str],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Tensor], Any] | None = None,
    name: str | None = None,
) -> tuple[Tensor, dict[str, Any]]:
    """Creates batches of features and record keys, parsed in advance into a second queue.

    Args:
        file_pattern: See `read_batch_examples`.
        batch_size: See `read_batch_examples`.
        features: The features, as for `tf.parse_example`.
        reader: See `read_batch_examples`.
        randomize_input: See `read_batch_examples`.
        num_epochs: See `read_batch_examples`.
        queue_capacity: See `read_batch_examples`.
        reader_num_threads: The number of files to read at the same time.
        feature_queue_capacity: The maximum number of parsed batches in the second queue.
        num_enqueue_threads: The number of threads that parse. With more than one thread, the order
            of batches is not kept.
        parse_fn: A function that accepts a record and returns the bytes of the `tf.train.Example`
            to parse.
        name: See `read_batch_examples`.

    Returns:
        The record keys of a batch, a string vector, and the feature tensors by name.

    Raises:
        ValueError: See `read_batch_examples`.
    """
    with name_scope(name, "read_batch_features"):
        keys, records = read_keyed_batch_examples(
            *(file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity),
            num_threads=reader_num_threads,
            read_batch_size=batch_size,
            parse_fn=parse_fn,
        )
        parsed = parse_example(records, features)
        queued, tensors = queue_parsed_features(
            parsed, keys, feature_queue_capacity, num_enqueue_threads
        )
        assert queued is not None
        return queued, tensors


# The workers of one process share the file names anyway.
read_keyed_batch_examples_shared_queue = read_keyed_batch_examples


def read_keyed_batch_features_shared_queue(
    file_pattern: str | Sequence[str],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_queue_runners: int = 2,
    parse_fn: Callable[[Tensor], Any] | None = None,
    name: str | None = None,
) -> tuple[Tensor, dict[str, Any]]:
    """Calls `read_keyed_batch_features`. Workers in one process share the file names."""
    return read_keyed_batch_features(
        *(file_pattern, batch_size, features, reader, randomize_input, num_epochs),
        *(queue_capacity, reader_num_threads, feature_queue_capacity, num_queue_runners),
        *(parse_fn, name),
    )


def queue_parsed_features(
    parsed_features: Mapping[str, Any],
    keys: Tensor | None = None,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    name: str | None = None,
) -> tuple[Tensor | None, dict[str, Any]]:
    """Prefetches parsed features through a queue that a queue runner fills.

    Args:
        parsed_features: Tensors and sparse tensors by name, as from `tf.parse_example`.
        keys: The keys of the records (optional).
        feature_queue_capacity: The maximum number of batches in the queue.
        num_enqueue_threads: The number of threads that fill the queue. With more than one thread,
            the order of batches is not kept.
        name: Name scope of the operations.

    Returns:
        The keys or None, and the features, from the queue.
    """
    with name_scope(name, "queue_parsed_features"):
        names = sorted(parsed_features)
        parts = [_parts_of(parsed_features[key]) for key in names]
        if keys is not None:
            parts.append([keys])
        tensors = [tensor for each in parts for tensor in each]
        queue = FIFOQueue(feature_queue_capacity, [tensor.dtype.base_dtype for tensor in tensors])
        share = cast(queue.size(), "float32") * (1.0 / feature_queue_capacity)
        scalar(
            f"queue/parsed_features/{queue.name}/fraction_of_{feature_queue_capacity}_full", share
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_enqueue_threads))
        output: Any = queue.dequeue()
        dequeued = output if isinstance(output, list) else [output]
        for part, tensor in zip(dequeued, tensors, strict=True):
            part.set_shape(tensor.shape)
        rest = iter(dequeued)
        values = [[next(rest) for _ in each] for each in parts]
        queued_keys = values.pop()[0] if keys is not None else None
        features = {
            key: SparseTensor(*each) if len(each) > 1 else each[0]
            for key, each in zip(names, values, strict=True)
        }
        return queued_keys, features


def _parts_of(feature: Tensor | SparseTensor) -> list[Tensor]:
    if isinstance(feature, SparseTensor):
        return [feature.indices, feature.values, feature.dense_shape]
    return [feature]


def _read(
    reader: Any, names: Any, num_records: int, parse_fn: Callable[[Tensor], Any] | None
) -> Any:
    """Returns the tensors of one or more examples, with the keys first or under `_KEY`."""
    if num_records > 1 and parse_fn is None:
        return list(reader.read_up_to(names, num_records))
    key, record = reader.read(names)
    parsed = record if parse_fn is None else parse_fn(record)
    if isinstance(parsed, dict):
        return {**parsed, _KEY: key}
    return [key, *(parsed if isinstance(parsed, (list, tuple)) else [parsed])]


def _files(file_pattern: str | Sequence[str]) -> list[str]:
    patterns = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    files = sorted({file for pattern in patterns for file in gfile.Glob(pattern)})
    if not files:
        raise ValueError(f"No files match {file_pattern}.")
    return files


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
