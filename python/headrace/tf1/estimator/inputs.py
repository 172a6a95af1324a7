"""`tf.estimator.inputs`: input functions for arrays in memory.

Source: `tf.estimator.inputs` in TensorFlow 1.15.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from headrace.core.dtypes import as_dtype, string
from headrace.core.errors import OutOfRangeError
from headrace.graph import Tensor, name_scope
from headrace.ops.math.cast import cast
from headrace.tf1.adapters.control import py_func
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.queues import FIFOQueue, QueueBase, RandomShuffleQueue
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = ["numpy_input_fn", "pandas_input_fn"]

_Array: TypeAlias = np.ndarray[Any, Any]
_InputFn: TypeAlias = Callable[[], Any]

# The fraction of a shuffled queue's elements that stay in the queue to keep it well mixed.
KEPT_BACK: Final = 4


def numpy_input_fn(
    x: _Array | Mapping[str, _Array],
    y: _Array | Mapping[str, _Array] | None = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> _InputFn:
    """Returns a function that creates batches from the rows of arrays.

    Args:
        x: The features: an array or a dict of arrays. The rows are along the first axis.
        y: The labels, in the same form as `x` and with the same number of rows (optional).
        batch_size: The number of rows in a batch. The last batch can be smaller.
        num_epochs: The number of epochs. If None, there is no limit.
        shuffle: Whether rows are in random order. This argument is required.
        queue_capacity: The maximum number of rows in the queue.
        num_threads: The number of threads that fill the queue.

    Returns:
        A function. Each call adds a pipeline with a queue runner to the default graph and returns a
        batch: the features in the structure of `x`, or, if there are labels, a pair of features and
        labels.

    Raises:
        TypeError: If `x` is neither an array nor a dict.
        ValueError: If `shuffle` is not a bool, a dict is empty, or the numbers of rows differ.
    """
    _check_shuffle(shuffle)
    features = _as_dict(x, "x")
    labels = {} if y is None else _as_dict(y, "y")
    columns = [*features.values(), *labels.values()]
    lengths = {f"x[{key!r}]": len(value) for key, value in features.items()}
    lengths |= {f"y[{key!r}]": len(value) for key, value in labels.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the "
            f"same length. Got {', '.join(f'{key}: {size}' for key, size in lengths.items())}."
        )

    def input_fn() -> Any:
        batch = _batch(columns, batch_size, num_epochs, bool(shuffle), queue_capacity, num_threads)
        by_name = dict(zip(features, batch, strict=False))
        features_out = by_name if isinstance(x, Mapping) else batch[0]
        if y is None:
            return features_out
        targets = batch[len(features) :]
        if isinstance(y, Mapping):
            return features_out, dict(zip(labels, targets, strict=True))
        return features_out, targets[0]

    return input_fn


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> _InputFn:
    """Returns a function that creates batches from the rows of a pandas `DataFrame`.

    Args:
        x: The features, a `DataFrame`.
        y: The labels, a `Series` or `DataFrame` with the same index (optional).
        batch_size: See `numpy_input_fn`.
        num_epochs: See `numpy_input_fn`.
        shuffle: See `numpy_input_fn`.
        queue_capacity: See `numpy_input_fn`.
        num_threads: See `numpy_input_fn`.
        target_column: The name of the labels. It must not be the name of a feature.

    Returns:
        A function, as from `numpy_input_fn`. The features are returned as a dict by column name.

    Raises:
        TypeError: If `x` is not a `DataFrame`, or `target_column` is not a string.
        ValueError: If `shuffle` is not a bool, the indexes differ, or a feature has the name of the
            labels.
    """
    _check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    if not hasattr(x, "columns") or not hasattr(x, "index"):
        raise TypeError(f"x must be pandas.DataFrame, got {type(x).__name__}.")
    if y is not None and target_column in x:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column "
            "with that name."
        )
    if y is not None and not np.array_equal(x.index, y.index):
        raise ValueError(
            f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n"
        )
    features = {str(name): x[name].to_numpy() for name in x.columns}
    labels: _Array | dict[str, _Array] | None = None
    if y is not None and hasattr(y, "columns"):
        labels = {str(name): y[name].to_numpy() for name in y.columns}
    elif y is not None:
        labels = y.to_numpy()
    return numpy_input_fn(
        features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads
    )


def _check_shuffle(shuffle: object) -> None:
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it "
            f"as True for training); got {shuffle}"
        )


def _as_dict(arrays: Any, what: str) -> dict[Any, _Array]:
    if isinstance(arrays, Mapping):
        if not arrays:
            raise ValueError(f"{what} cannot be an empty dict")
        return {key: np.asarray(value) for key, value in arrays.items()}
    if not isinstance(arrays, np.ndarray):
        raise TypeError(f"{what} must be a dict or array; got {type(arrays).__name__}")
    return {"": arrays}


def _batch(
    columns: list[_Array],
    batch_size: int,
    num_epochs: int | None,
    shuffle: bool,
    capacity: int,
    num_threads: int,
) -> list[Tensor]:
    """Adds a queue of rows, a runner that fills it, and an operation that dequeues a batch."""
    dtypes = [dtype_of(column) for column in columns]
    shapes = [list(column.shape[1:]) for column in columns]
    with name_scope("enqueue_input"):
        queue: FIFOQueue | RandomShuffleQueue
        if shuffle:
            queue = RandomShuffleQueue(capacity, capacity // KEPT_BACK, dtypes, shapes)
        else:
            queue = FIFOQueue(capacity, dtypes, shapes)
        rows = _Rows(columns, batch_size, num_epochs, shuffle)
        return filled(queue, rows.take, batch_size, num_epochs, capacity, num_threads)


def filled(
    queue: QueueBase,
    take: Callable[[], list[_Array]],
    batch_size: int,
    num_epochs: int | None,
    capacity: int,
    num_threads: int,
) -> list[Tensor]:
    """Adds a runner that fills a queue with rows, and an operation that dequeues a batch.

    Args:
        queue: The queue.
        take: A function that returns the next rows of each component, and raises OutOfRangeError at
            the end.
        batch_size: The number of rows in a batch.
        num_epochs: The number of epochs. If None, the rows repeat forever, and all batches are
            full.
        capacity: The number of rows that the queue can hold.
        num_threads: The number of threads that fill the queue.
    """
    values = py_func(take, [], queue.dtypes)
    for value, shape in zip(values, queue.shapes, strict=True):
        value.set_shape([None, *shape])
    add_queue_runner(QueueRunner(queue, [queue.enqueue_many(values)] * num_threads))
    share = cast(queue.size(), "float32") * (1.0 / capacity)
    scalar(f"queue/{queue.name}/fraction_of_{capacity}_full", share)
    batch = queue.dequeue_many if num_epochs is None else queue.dequeue_up_to
    taken = batch(batch_size)
    return taken if isinstance(taken, list) else [taken]


def dtype_of(column: _Array) -> Any:
    """Returns the dtype of an array's elements. Objects become strings."""
    return string if column.dtype.kind in "OSU" else as_dtype(column.dtype)


class _Rows:
    """Takes rows from arrays, several at a time. Several threads may call it."""

    def __init__(
        self, columns: list[_Array], size: int, num_epochs: int | None, shuffle: bool
    ) -> None:
        self._columns = columns
        self._lock = threading.Lock()
        # Guarded by the lock.
        self._index_blocks = self._make_index_blocks(size, num_epochs, shuffle)

    def take(self) -> list[_Array]:
        """Returns the next rows of each array.

        Raises:
            OutOfRangeError: If there are no more rows.
        """
        with self._lock:
            indices = next(self._index_blocks, None)
        if indices is None:
            raise OutOfRangeError(None, None, "Already emitted all epochs.")
        return [column[indices] for column in self._columns]

    def _make_index_blocks(
        self, size: int, num_epochs: int | None, shuffle: bool
    ) -> Iterator[_Array]:
        num_rows = len(self._columns[0])
        order = np.arange(num_rows)
        num_given = 0
        while num_rows and (num_epochs is None or num_given < num_epochs):
            if shuffle:
                np.random.default_rng().shuffle(order)
            for start in range(0, num_rows, size):
                yield order[start : start + size].copy()
            num_given += 1


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
