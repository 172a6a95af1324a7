"""Producers, whose runners fill a queue with the rows of a tensor once per epoch.

Source: `tensorflow/python/training/input.py` in TensorFlow 1.15.
"""

from collections.abc import Collection, Sequence
from os import PathLike
from typing import overload

from headrace.core import dtypes
from headrace.core.shapes import ShapeLike
from headrace.graph import (
    GraphKeys,
    Operation,
    Tensor,
    TensorLike,
    control_dependencies,
    name_scope,
)
from headrace.ops.array.gather import gather
from headrace.ops.array.placeholder import identity
from headrace.ops.array.range import range as range_op
from headrace.ops.array.shape import shape, size
from headrace.ops.control.control_flow import Assert
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import greater
from headrace.ops.random.shuffle import random_shuffle
from headrace.tf1.ops.paths import with_paths_as_strings
from headrace.tf1.ops.queues import FIFOQueue, QueueBase
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.ops.variables.variable import Variable
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = [
    "input_producer",
    "limit_epochs",
    "range_input_producer",
    "slice_input_producer",
    "string_input_producer",
]


@overload
def limit_epochs(
    tensor: Tensor, num_epochs: int | None = None, name: str | None = None
) -> Tensor: ...


@overload
def limit_epochs(tensor: TensorLike, num_epochs: int, name: str | None = None) -> Tensor: ...


@overload
def limit_epochs(
    tensor: TensorLike, num_epochs: int | None = None, name: str | None = None
) -> TensorLike: ...


def limit_epochs(
    tensor: TensorLike, num_epochs: int | None = None, name: str | None = None
) -> TensorLike:
    """Returns a tensor that can be computed `num_epochs` times.

    The count is a local variable: run `local_variables_initializer` first.

    Args:
        tensor: Any tensor.
        num_epochs: The number of epochs. Defaults to no limit.
        name: Name of the operation.

    Returns:
        The limited tensor, or `tensor` itself if there is no limit.

    Raises:
        FailedPreconditionError: At run time, if the count was not initialized.
        OutOfRangeError: At run time, if the limit is reached.
        ValueError: If `num_epochs` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            convert_to_tensor(0, dtypes.int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        counter = epochs.count_up_to(num_epochs)
        with control_dependencies([counter]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: TensorLike,
    element_shape: ShapeLike | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Returns a queue that a runner fills with the rows of a tensor.

    Args:
        input_tensor: The rows, which are computed again in each epoch.
        element_shape: The shape of one row, if the shape of the tensor is not fully known.
        num_epochs: The number of epochs. Defaults to no limit. If given, run
            `local_variables_initializer` first.
        shuffle: Whether the rows are in a new random order in each epoch.
        seed: Makes the order repeatable.
        capacity: The maximum number of rows in the queue.
        shared_name: See `FIFOQueue`.
        summary_name: The name of a summary of how full the queue is. By default, there is no
            summary.
        name: Name of the operations.
        cancel_op: See `QueueRunner`.

    Returns:
        A `FIFOQueue`. Its runner is in `GraphKeys.QUEUE_RUNNERS`.

    Raises:
        InvalidArgumentError: When the runner runs, if the tensor has no rows and `num_epochs` is
            None.
        ValueError: If the shape of a row is not fully known, or contradicts `element_shape`.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        row_shape = rows.shape.with_rank_at_least(1)[1:].merge_with(element_shape)
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity=capacity,
            dtypes=[rows.dtype.base_dtype],
            shapes=[row_shape],
            shared_name=shared_name,
            name=name or "FIFOQueueV2",
        )
        enqueue = queue.enqueue_many(rows)
        # Without rows and without a limit on epochs, the runner would loop forever.
        enqueue.attrs["_refuses_empty"] = num_epochs is None
        add_queue_runner(QueueRunner(queue, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            scalar(summary_name, cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return queue


def string_input_producer(
    string_tensor: TensorLike | Sequence[str | PathLike[str]],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Returns a queue that a runner fills with strings, such as file names.

    Args:
        string_tensor: A vector of strings, or a list of `pathlib.Path`s. It must not be empty.
        num_epochs: See `input_producer`.
        shuffle: See `input_producer`.
        seed: See `input_producer`.
        capacity: See `input_producer`.
        shared_name: See `FIFOQueue`.
        name: Name of the operations.
        cancel_op: See `QueueRunner`.

    Returns:
        A `FIFOQueue` of scalar strings. Its runner is in `GraphKeys.QUEUE_RUNNERS`.

    Raises:
        InvalidArgumentError: When the runner runs, if the tensor is empty.
        ValueError: If the tensor is known to be empty, or is not a vector.
    """
    text = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor) and not string_tensor:
        raise ValueError(text)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(with_paths_as_strings(string_tensor), dtype=dtypes.string)
        with control_dependencies([Assert(greater(size(strings), 0), [text])]):
            strings = identity(strings)
        return input_producer(
            input_tensor=strings,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            name=scope,
            summary_name=f"fraction_of_{capacity}_full",
            cancel_op=cancel_op,
        )


def range_input_producer(
    limit: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Returns a queue that a runner fills with the integers from 0 to `limit` - 1.

    Args:
        limit: A scalar integer.
        num_epochs: See `input_producer`.
        shuffle: See `input_producer`.
        seed: See `input_producer`.
        capacity: See `input_producer`.
        shared_name: See `FIFOQueue`.
        name: Name of the operations.

    Returns:
        A `FIFOQueue` of scalar integers with the type of `limit`.
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            range_op(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Collection[TensorLike],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Returns one row from each tensor. All rows have the same index, which changes in each run.

    Args:
        tensor_list: Tensors with the same number of rows.
        num_epochs: See `input_producer`.
        shuffle: See `input_producer`.
        seed: See `input_producer`.
        capacity: See `input_producer`.
        shared_name: See `FIFOQueue`.
        name: Name of the operations.

    Returns:
        One tensor for each tensor in `tensor_list`, without the first dimension.

    Raises:
        InvalidArgumentError: At run time, if a tensor has fewer rows than the first.
        ValueError: If `tensor_list` is empty.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(tensor) for tensor in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        num_rows = shape(tensors[0])[0]
        queue = range_input_producer(
            num_rows,
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [gather(tensor, index) for tensor in tensors]
