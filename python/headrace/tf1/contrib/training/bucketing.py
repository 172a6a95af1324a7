"""Batches whose examples are of one bucket.

Each bucket has a queue. One runner puts examples into the queue of their bucket; another moves
batches from those queues into a common queue, from which they are taken.

Source: `tf.contrib.training.bucket` and `bucket_by_sequence_length` of TensorFlow 1.15.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.errors import CancelledError, OutOfRangeError
from headrace.core.shapes import TensorShape
from headrace.graph import name_scope
from headrace.tf1 import ops
from headrace.tf1.adapters.control import cond
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = ["bucket", "bucket_by_sequence_length"]

_ENDS = (OutOfRangeError, CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: int | Sequence[int],
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
    """Makes batches whose examples are of one bucket. Adds queue runners to the graph.

    Args:
        tensors: One example: a list of tensors, or a dict.
        which_bucket: Its bucket, an int32 scalar from 0.
        batch_size: Examples of a batch: one number, or one for each bucket.
        num_buckets: The number of buckets.
        num_threads: Threads that compute examples.
        capacity: The number of batches that wait, and of examples in each bucket.
        bucket_capacities: The number of examples that wait in each bucket.
        shapes: The shapes of an example's tensors; by default the static ones.
        dynamic_pad: Whether shapes may be known in part; examples of a batch are padded.
        allow_smaller_final_batch: Whether the last batch of a bucket may be smaller.
        keep_input: A bool, or a scalar tensor that says whether the example is kept.
        shared_name: Accepted for compatibility; not used.
        name: Name scope of the operations.

    Returns:
        The bucket of the batch, an int32 scalar, and the batch as `tensors` was given.

    Raises:
        ValueError: If there are fewer than two buckets, or numbers do not fit them.
    """
    names = sorted(tensors) if isinstance(tensors, Mapping) else None
    inputs = [tensors[key] for key in names] if names is not None else list(tensors)
    sizes = [batch_size] * num_buckets if isinstance(batch_size, int) else list(batch_size)
    _check(num_buckets, sizes, bucket_capacities)
    with name_scope(name, "bucket", inputs):
        inputs = [ops.convert_to_tensor(tensor) for tensor in inputs]
        which = ops.convert_to_tensor(which_bucket, dtype=int32)
        dtypes = [tensor.dtype for tensor in inputs]
        static_shape = [tensor.shape for tensor in inputs] if shapes is None else _as_shapes(shapes)
        kind = ops.PaddingFIFOQueue if dynamic_pad else ops.FIFOQueue
        queues = [
            kind(room, dtypes, static_shape, name=f"bucket_queue_{index}")
            for index, room in enumerate(bucket_capacities or [capacity] * num_buckets)
        ]
        batched = [TensorShape([None, *shape.as_list()]) for shape in static_shape]
        top = ops.PaddingFIFOQueue(capacity, [int32, *dtypes], [[], *batched], name="top_queue")
        _add_filling(queues, inputs, which, keep_input, num_threads)
        moves = []
        for index, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
            taken = (
                queue.dequeue_up_to(size)
                if allow_smaller_final_batch
                else (queue.dequeue_many(size))
            )
            parts = taken if isinstance(taken, list) else [taken]
            moves.append(top.enqueue([ops.constant(index), *parts]))
        add_queue_runner(QueueRunner(top, moves, queue_closed_exception_types=_ENDS))
        share = ops.cast(top.size(), "float32") * (1.0 / capacity)
        scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", share)
        number, *parts = top.dequeue()
        if len(set(sizes)) == 1 and not allow_smaller_final_batch:
            for part, shape in zip(parts, static_shape, strict=True):
                part.set_shape([sizes[0], *shape.as_list()])
    return number, dict(zip(names, parts, strict=True)) if names is not None else parts


def _add_filling(
    queues: list[Any], tensors: list[Any], which: Any, keep_input: Any, num_threads: int
) -> None:
    """Adds a runner that puts each example into the queue of its bucket."""
    is_kept = ops.convert_to_tensor(keep_input, dtype="bool")
    enqueues = [
        cond(
            ops.logical_and(is_kept, ops.equal(which, index)),
            partial(_enqueue, queue, tensors),
            partial(ops.constant, False),
        )
        for index, queue in enumerate(queues)
    ]
    fill = ops.group(*enqueues, name="group_enqueues")
    add_queue_runner(
        QueueRunner(
            queues[0],
            [fill] * num_threads,
            close_op=ops.group(*[queue.close() for queue in queues]),
            cancel_op=ops.group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
            queue_closed_exception_types=_ENDS,
        )
    )


def _enqueue(queue: Any, tensors: list[Any]) -> Any:
    with ops.control_dependencies([queue.enqueue(tensors)]):
        return ops.constant(True)


def _check(num_buckets: int, sizes: list[int], capacities: Sequence[int] | None) -> None:
    if num_buckets < 2:
        raise ValueError(f"num_buckets must be >= 2, but saw: {num_buckets}")
    if len(sizes) != num_buckets:
        raise ValueError(
            f"If batch_size is a list it must have num_buckets elements: got {len(sizes)}, "
            f"expected {num_buckets}."
        )
    if capacities is not None and len(capacities) != num_buckets:
        raise ValueError(
            f"The list of bucket_capacities ({len(capacities)}) must have the same length as "
            f"num_buckets ({num_buckets})."
        )


def _as_shapes(shapes: Any) -> list[TensorShape]:
    return [TensorShape(shape) for shape in shapes]


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: int | Sequence[int],
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
    """Makes batches of examples of similar lengths; see `bucket`.

    Args:
        input_length: The length of the example, an int32 scalar.
        tensors: One example: a list of tensors, or a dict.
        batch_size: Examples of a batch: one number, or one for each bucket.
        bucket_boundaries: The beginnings of all buckets but the first: increasing lengths.
        num_threads: As for `bucket`, like all others.
        capacity: See there.
        bucket_capacities: See there.
        shapes: See there.
        dynamic_pad: See there.
        allow_smaller_final_batch: See there.
        keep_input: See there.
        shared_name: See there.
        name: See there.

    Returns:
        The lengths of the batch, an int32 vector, and the batch as `tensors` was given.

    Raises:
        TypeError: If `bucket_boundaries` is not a list of integers.
        ValueError: If it is empty or does not increase, or numbers do not fit.
    """
    if not isinstance(bucket_boundaries, (list, tuple)):
        raise TypeError(
            f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}"
        )
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for bound, following in pairwise(bucket_boundaries):
        if not (isinstance(bound, int) and isinstance(following, int)):
            raise TypeError(f"bucket boundaries must be integers, but saw: {bound} and {following}")
        if bound >= following:
            raise ValueError(
                "Buckets must contain sequential increasing lengths, but saw: "
                f"{bound} before {following}"
            )
    names = sorted(tensors) if isinstance(tensors, Mapping) else None
    inputs = [tensors[key] for key in names] if names is not None else list(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *inputs]):
        length = ops.convert_to_tensor(input_length, dtype=int32)
        bounds = np.array(bucket_boundaries, np.int32)
        which = ops.reduce_sum(ops.cast(ops.greater_equal(length, bounds), int32))
        _, (lengths, *parts) = bucket(
            [length, *inputs],
            which,
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
    return lengths, dict(zip(names, parts, strict=True)) if names is not None else parts
