"""Creates batches whose examples all belong to the same bucket.

Each bucket has a queue. One runner puts each example into its bucket's queue. Another runner moves
batches from these queues into a common output queue.

Source: `tf.contrib.training.bucket` and `bucket_by_sequence_length` in TensorFlow 1.15.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.errors import CancelledError, OutOfRangeError
from headrace.core.shapes import TensorShape
from headrace.graph import Operation, Tensor, name_scope
from headrace.ops.control.cond import cond
from headrace.tf1 import ops
from headrace.tf1.input.batcher import check_keep_input, restore_sparse, without_sparse
from headrace.tf1.input.components import Example, as_rows, common_components, convert, queue_shapes
from headrace.tf1.ops.queues import FIFOQueue, PaddingFIFOQueue, QueueBase
from headrace.tf1.ops.sparse.table import SparseTable
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = ["bucket", "bucket_by_sequence_length"]

_ENDS = (OutOfRangeError, CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Creates batches with all examples from the same bucket. Adds queue runners to the graph.

    Args:
        tensors: One example: a list or dict of tensors and sparse tensors.
        which_bucket: The bucket number of the example, an int32 scalar starting at 0. Examples with
            an invalid number are dropped.
        batch_size: The number of examples in a batch: an int, an int32 scalar, or a list with one
            number per bucket.
        num_buckets: The number of buckets.
        num_threads: The number of threads that compute examples.
        capacity: The maximum number of waiting batches, and of waiting examples in each bucket.
        bucket_capacities: The maximum number of waiting examples in each bucket.
        shapes: The shapes of the tensors of an example. Defaults to the static shapes.
        dynamic_pad: Whether shapes can be partially known. The examples of a batch are then padded.
        allow_smaller_final_batch: Whether the last batch of a bucket may be smaller.
        keep_input: A bool, or a bool scalar tensor: whether the example is kept.
        shared_name: The shared name of the common queue; see `FIFOQueue`. The names of the bucket
            queues end with the bucket number.
        name: Name scope of the operations.

    Returns:
        The bucket number of the batch, an int32 scalar, and the batch: a list, or a dict if
        `tensors` is a dict.

    Raises:
        ValueError: If `num_buckets` is less than 1, `tensors` is empty, a list does not have
            `num_buckets` elements, or shapes are unknown.
    """
    keys, [row] = as_rows([tensors])
    is_one_size = not isinstance(batch_size, (list, tuple))
    bucket_sizes = [batch_size] * num_buckets if is_one_size else list(batch_size)
    capacities = _check(num_buckets, bucket_sizes, bucket_capacities or [capacity] * num_buckets)
    with name_scope(name, "bucket", row):
        [example] = convert([row])
        keep = check_keep_input(keep_input, enqueue_many=False)
        sizes = [ops.convert_to_tensor(size, int32, "batch_size") for size in bucket_sizes]
        which = ops.convert_to_tensor(which_bucket, int32, "which_bucket")
        components = common_components([example], enqueue_many=False)
        known = queue_shapes([example], components, shapes, enqueue_many=False)
        types = [component.queue_dtype for component in components]
        is_sparse = any(component.sparse_shape is not None for component in components)
        table = SparseTable() if is_sparse else None
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues: list[QueueBase] = [
            kind(
                room,
                types,
                known,
                shared_name=None if shared_name is None else f"{shared_name}_{number}",
                name=f"bucket_queue_{number}",
            )
            for number, room in enumerate(capacities)
        ]
        is_known = is_one_size and not allow_smaller_final_batch
        batch_shape = TensorShape([ops.constant_value(sizes[0]) if is_known else None])
        top = PaddingFIFOQueue(
            capacity,
            [int32, *types],
            [[], *map(batch_shape.concatenate, known)],
            shared_name=shared_name,
            name="top_queue",
        )
        enqueues = [
            _enqueue_if(_is_of(which, number, keep), queue, example, table)
            for number, queue in enumerate(queues)
        ]
        _add_filling(queues, ops.group(*enqueues, name="group_enqueues"), num_threads)
        moves = []
        for number, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
            take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
            taken = take(size, name=f"read_bucket_{number}")
            parts = taken if isinstance(taken, list) else [taken]
            number_and_parts = [ops.constant(number), *parts]
            moves.append(top.enqueue(number_and_parts, name=f"enqueue_from_bucket_{number}"))
        add_queue_runner(QueueRunner(top, moves, queue_closed_exception_types=_ENDS))
        for queue in queues:
            scalar(f"bucket/{queue.name}/size", ops.cast(top.size(), "float32"))
        share = ops.cast(top.size(), "float32") * (1.0 / capacity)
        scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", share)
        bucket_of_batch, *batch = top.dequeue(name="dequeue_top")
        if table is not None:
            batch = restore_sparse(batch, components, table)
    return bucket_of_batch, dict(zip(keys, batch, strict=True)) if keys is not None else batch


def _is_of(which: Tensor, number: int, keep: Tensor | None) -> Tensor:
    """Returns whether an example is kept and belongs to this bucket."""
    is_of = ops.equal(which, number)
    return is_of if keep is None else ops.logical_and(keep, is_of)


def _enqueue_if(
    condition: Tensor, queue: QueueBase, example: Example, table: SparseTable | None
) -> Any:
    def enqueue() -> Operation:
        return queue.enqueue([without_sparse(value, table) for value in example])

    return cond(condition, enqueue, ops.no_op)


def _add_filling(queues: Sequence[QueueBase], fill: Operation, num_threads: int) -> None:
    """Adds a runner that puts each example into its bucket's queue."""
    add_queue_runner(
        QueueRunner(
            queues[0],
            [fill] * num_threads,
            close_op=ops.group(*[queue.close() for queue in queues]),
            cancel_op=ops.group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
            queue_closed_exception_types=_ENDS,
        )
    )


def _check(num_buckets: int, sizes: Sequence[Any], capacities: Sequence[int]) -> Sequence[int]:
    """Checks the arguments and returns the bucket capacities."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets must be >= 1, but saw: {num_buckets}")
    if len(sizes) != num_buckets:
        raise ValueError(
            f"If batch_size is a list it must have num_buckets elements: got {len(sizes)}, "
            f"expected {num_buckets}."
        )
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets "
            f"({num_buckets}) elements."
        )
    return capacities


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Creates batches of examples of similar length; see `bucket`.

    Args:
        input_length: The length of the example, an int32 scalar.
        tensors: See `bucket`.
        batch_size: See `bucket`.
        bucket_boundaries: The start of each bucket except the first, in increasing order.
        num_threads: See `bucket`.
        capacity: See `bucket`.
        bucket_capacities: See `bucket`.
        shapes: See `bucket`.
        dynamic_pad: See `bucket`.
        allow_smaller_final_batch: See `bucket`.
        keep_input: See `bucket`.
        shared_name: See `bucket`.
        name: See `bucket`.

    Returns:
        The lengths of the examples, an int32 vector, and the batch in the structure of `tensors`.

    Raises:
        TypeError: If `bucket_boundaries` is not a list of integers.
        ValueError: If `bucket_boundaries` is empty or does not increase, or a number is out of
            range.
    """
    if not isinstance(bucket_boundaries, (list, tuple)):
        raise TypeError(
            f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}"
        )
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    if not all(isinstance(bound, (int, np.integer)) for bound in bucket_boundaries):
        raise TypeError(
            "bucket boundaries must be integers, but saw: "
            f"{' and '.join(map(str, bucket_boundaries))}"
        )
    for bound, following in pairwise(bucket_boundaries):
        if bound >= following:
            raise ValueError(
                "Buckets must contain sequential increasing lengths, but saw: "
                f"{bound} before {following}"
            )
    keys, [row] = as_rows([tensors])
    with name_scope(name, "bucket_by_sequence_length", [input_length, *row]):
        length = ops.convert_to_tensor(input_length, int32, "input_length")
        is_reached = ops.greater_equal(length, ops.constant(list(bucket_boundaries), int32))
        _, (lengths, *parts) = bucket(
            [length, *row],
            ops.reduce_sum(ops.cast(is_reached, int32)),
            batch_size,
            len(bucket_boundaries) + 1,
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [[], *shapes],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
        )
    return lengths, dict(zip(keys, parts, strict=True)) if keys is not None else parts
