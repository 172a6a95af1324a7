"""Batches the rows that generators yield.

Source: `tf.contrib.learn.io.generator_input_fn` in TensorFlow 1.15, which fills up the last batch
of the last epoch with rows from one more epoch. Here, the last batch is smaller.
"""

import threading
from collections.abc import Callable, Container, Iterator
from types import FunctionType, GeneratorType
from typing import Any, TypeAlias

import numpy as np

from headrace.core.errors import OutOfRangeError
from headrace.graph import name_scope
from headrace.tf1.estimator.inputs import KEPT_BACK, dtype_of, filled
from headrace.tf1.ops.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue

__all__ = ["generator_input_fn"]

_Row: TypeAlias = dict[str, np.ndarray[Any, Any]]
_Generator: TypeAlias = Callable[[], Iterator[_Row]]


def generator_input_fn(
    x: _Generator,
    target_key: str | Container[str] | None = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    pad_value: float | None = None,
) -> Callable[[], Any]:
    """Returns a function that creates batches from the rows of a generator.

    Args:
        x: A generator function. Each call yields the rows of one epoch as dicts of arrays.
        target_key: The key of the labels, or a list of keys. By default, there are no labels.
        batch_size: The number of rows in a batch. The last batch can be smaller.
        num_epochs: The number of epochs. If None, there is no limit.
        shuffle: Whether rows are in random order.
        queue_capacity: The maximum number of rows in the queue.
        num_threads: The number of threads that fill the queue.
        pad_value: If given, the last axes of rows can differ in size. Rows that are read together
            are padded with this value. Any further padding within a batch is 0.

    Returns:
        A function. Each call adds a pipeline with a queue runner to the default graph and returns a
        batch: a dict of features, or, if there are labels, a pair of features and labels. A single
        label is returned as a tensor.

    Raises:
        KeyError: If the rows do not have the key `target_key`.
        NotImplementedError: If both `pad_value` and `shuffle` are used.
        TypeError: If `x` is not a generator function of dicts, or `target_key` has the wrong type.
    """
    if not isinstance(x, FunctionType):
        raise TypeError(f"x must be generator function; got {type(x).__name__}")
    generator = x()
    if not isinstance(generator, GeneratorType):
        raise TypeError(f"x() must be generator; got {type(generator).__name__}")
    first = next(generator)
    if not isinstance(first, dict):
        raise TypeError(f"x() must yield dict; got {type(first).__name__}")
    if shuffle and pad_value is not None:
        raise NotImplementedError("Padding of shuffled rows is not supported. Pass shuffle=False.")
    keys = sorted(first)
    targets = _targets(target_key, keys)
    arrays = [np.asarray(first[key]) for key in keys]

    def input_fn() -> Any:
        with name_scope("enqueue_input"):
            queue = _queue(arrays, queue_capacity, shuffle, pad_value is not None)
            rows = _Rows(x, keys, batch_size, num_epochs, pad_value)
            batch = filled(queue, rows.take, batch_size, num_epochs, queue_capacity, num_threads)
        features = dict(zip(keys, batch, strict=True))
        if targets is None:
            return features
        labels = {key: features.pop(key) for key in targets}
        return features, labels if len(labels) > 1 else labels[targets[0]]

    return input_fn


def _targets(target_key: object, keys: list[str]) -> list[str] | None:
    if target_key is None:
        return None
    if not isinstance(target_key, Container):
        raise TypeError(f"target_key must be string or Container of strings; got {target_key!r}")
    items: Any = [target_key] if isinstance(target_key, str) else target_key
    targets = list(items)
    for key in targets:
        if not isinstance(key, str):
            raise TypeError(f"target_key must be string or Container of strings; got {key!r}")
        if key not in keys:
            raise KeyError(f"target_key {key!r} not in yielded keys: {keys}")
    return targets


def _queue(arrays: list[Any], capacity: int, shuffle: bool, pads: bool) -> QueueBase:
    dtypes = [dtype_of(array) for array in arrays]
    shapes = [list(array.shape) for array in arrays]
    if shuffle:
        return RandomShuffleQueue(capacity, capacity // KEPT_BACK, dtypes, shapes)
    if pads:
        partial = [[*shape[:-1], *[None] * bool(shape)] for shape in shapes]
        return PaddingFIFOQueue(capacity, dtypes, partial)
    return FIFOQueue(capacity, dtypes, shapes)


class _Rows:
    """Takes rows from a generator, several at a time. Several threads may call it."""

    def __init__(
        self,
        generator: _Generator,
        keys: list[str],
        size: int,
        num_epochs: int | None,
        pad_value: float | None,
    ) -> None:
        self._keys, self._pad_value = keys, pad_value
        self._lock = threading.Lock()
        # Guarded by the lock.
        self._parts = self._parts_of(generator, size, num_epochs)

    def take(self) -> list[Any]:
        """Returns the next rows for each key.

        Raises:
            KeyError: If a row lacks a key.
            OutOfRangeError: If there are no more rows.
        """
        with self._lock:
            part = next(self._parts, None)
        if part is None:
            raise OutOfRangeError(None, None, "Already emitted all epochs.")
        return [self._column(part, key) for key in self._keys]

    def _column(self, rows: list[_Row], key: str) -> Any:
        values = []
        for row in rows:
            if key not in row:
                raise KeyError(
                    f"key mismatch between dicts emitted by the generator: expected {self._keys}, "
                    f"got {sorted(row)}"
                )
            values.append(np.asarray(row[key]))
        if self._pad_value is None or not values[0].ndim:
            return np.stack(values)
        longest = max(value.shape[-1] for value in values)
        return np.stack([_padded(value, longest, self._pad_value) for value in values])

    @staticmethod
    def _parts_of(generator: _Generator, size: int, num_epochs: int | None) -> Iterator[list[_Row]]:
        num_given = 0
        while num_epochs is None or num_given < num_epochs:
            part: list[_Row] = []
            for row in generator():
                part.append(row)
                if len(part) == size:
                    yield part
                    part = []
            if part:
                yield part
            num_given += 1


def _padded(value: Any, length: int, pad_value: float) -> Any:
    widths = [(0, 0)] * (value.ndim - 1) + [(0, length - value.shape[-1])]
    return np.pad(value, widths, constant_values=pad_value)
