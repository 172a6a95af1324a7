"""Batchers: a runner's threads put examples into a queue, batches of them are taken out.

Source: `tensorflow/python/training/input.py` of TensorFlow 1.15.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from headrace import dtypes
from headrace.graph import Operation, Tensor, name_scope
from headrace.input.fullness import summarize_fullness
from headrace.ops.arithmetic import maximum
from headrace.ops.casting import cast
from headrace.ops.conversion import convert_to_tensor
from headrace.ops.queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    QueueBase,
    RandomShuffleQueue,
    is_single_shape,
)
from headrace.queue_runner import QueueRunner, add_queue_runner
from headrace.shapes import TensorShape, as_shape

__all__ = ["batch", "batch_join", "shuffle_batch", "shuffle_batch_join"]


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of the examples that `tensors` gives, one after the other.

    Args:
        tensors: One example: a list or dict of tensors.
        batch_size: Examples in a batch.
        num_threads: Threads that compute examples. With more than one, their order is not kept.
        capacity: How many examples the queue holds.
        enqueue_many: Whether each tensor holds several examples, one a row; none is allowed.
        shapes: Shapes of the tensors of one example, where they are not known.
        dynamic_pad: Whether tensors of unknown size are padded with 0 or "" to the longest of the
            batch.
        allow_smaller_final_batch: Whether the examples left at the end make a smaller batch;
            otherwise they are dropped.
        shared_name: As for `FIFOQueue`.
        name: Name of the operations.

    Returns:
        The tensors with a new first dimension: a dict for a dict, a bare tensor for a list of one,
        else a list.

    Raises:
        OutOfRangeError: When run: the input has ended, or failed (`Coordinator.join` tells).
        ValueError: If the tensors are none, or their shapes are not known.
    """
    return _batch(
        [tensors],
        batch_size,
        "batch",
        _Options(num_threads, enqueue_many, shapes, allow_smaller_final_batch, name),
        lambda types, shapes: _plain_queue(capacity, types, shapes, dynamic_pad, shared_name),
        is_join=False,
    )


def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As `batch`, with a thread for each example of `tensors_list`.

    Each of them has readers of its own, so that several files are read at once. It goes on until
    the last one has ended.
    """
    return _batch(
        tensors_list,
        batch_size,
        "batch_join",
        _Options(1, enqueue_many, shapes, allow_smaller_final_batch, name),
        lambda types, shapes: _plain_queue(capacity, types, shapes, dynamic_pad, shared_name),
        is_join=True,
    )


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As `batch`, of examples drawn at random from the queue.

    Args:
        tensors: As for `batch`.
        batch_size: As for `batch`.
        capacity: How many examples the queue holds; more than `min_after_dequeue`.
        min_after_dequeue: So many stay in the queue after a draw: the more, the better mixed.
        num_threads: As for `batch`.
        seed: Makes the draws repeatable.
        enqueue_many: As for `batch`.
        shapes: As for `batch`.
        allow_smaller_final_batch: As for `batch`.
        shared_name: As for `FIFOQueue`.
        name: Name of the operations.

    Raises:
        ValueError: As `batch`; or if `capacity` is not more than `min_after_dequeue`.
    """
    return _batch(
        [tensors],
        batch_size,
        "shuffle_batch",
        _Options(num_threads, enqueue_many, shapes, allow_smaller_final_batch, name),
        lambda types, shapes: _shuffle_queue(
            capacity, min_after_dequeue, types, shapes, seed, shared_name
        ),
        is_join=False,
    )


def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As `shuffle_batch`, with a thread for each example of `tensors_list`; see `batch_join`."""
    return _batch(
        tensors_list,
        batch_size,
        "shuffle_batch_join",
        _Options(1, enqueue_many, shapes, allow_smaller_final_batch, name),
        lambda types, shapes: _shuffle_queue(
            capacity, min_after_dequeue, types, shapes, seed, shared_name
        ),
        is_join=True,
    )


class _Options:
    """What all batchers are told."""

    def __init__(
        self,
        num_threads: int,
        enqueue_many: bool,
        shapes: Any,
        allow_smaller_final_batch: bool,
        name: str | None,
    ) -> None:
        self.num_threads = num_threads
        self.enqueue_many = enqueue_many
        self.shapes = shapes
        self.allow_smaller_final_batch = allow_smaller_final_batch
        self.name = name


def _batch(
    tensors_list: Any,
    batch_size: Any,
    default_name: str,
    options: _Options,
    make_queue: Any,
    *,
    is_join: bool,
) -> Any:
    keys, rows = _as_rows(tensors_list)
    with name_scope(
        options.name, default_name, [tensor for row in rows for tensor in row]
    ) as scope:
        examples = [[convert_to_tensor(tensor) for tensor in row] for row in rows]
        types = _common_types(examples)
        shapes = _common_shapes(examples, options.shapes, options.enqueue_many)
        queue, fraction, tag = make_queue(types, shapes)
        enqueue_ops = [_enqueue(queue, example, options.enqueue_many) for example in examples]
        if not is_join:
            enqueue_ops *= options.num_threads
        add_queue_runner(QueueRunner(queue, enqueue_ops))
        summarize_fullness(fraction(queue.size()), tag)
        take = queue.dequeue_up_to if options.allow_smaller_final_batch else queue.dequeue_many
        batched = take(batch_size, name=scope)
    if keys is None:
        return batched
    return dict(zip(keys, batched if isinstance(batched, list) else [batched], strict=True))


def _plain_queue(
    capacity: int,
    types: list[dtypes.DType],
    shapes: list[TensorShape],
    dynamic_pad: bool,
    shared_name: str | None,
) -> tuple[QueueBase, Any, str]:
    """The queue, how full it is given its size, and the name of that."""
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    queue = kind(capacity=capacity, dtypes=types, shapes=shapes, shared_name=shared_name)

    def fraction(size: Tensor) -> Tensor:
        return cast(size, dtypes.float32) * (1.0 / capacity)

    return queue, fraction, f"fraction_of_{capacity}_full"


def _shuffle_queue(
    capacity: int,
    min_after_dequeue: int,
    types: list[dtypes.DType],
    shapes: list[TensorShape],
    seed: int | None,
    shared_name: str | None,
) -> tuple[QueueBase, Any, str]:
    """As `_plain_queue`; full is what is above `min_after_dequeue`."""
    if capacity <= min_after_dequeue:
        raise ValueError(
            f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
        )
    queue = RandomShuffleQueue(
        capacity=capacity,
        min_after_dequeue=min_after_dequeue,
        seed=seed,
        dtypes=types,
        shapes=shapes,
        shared_name=shared_name,
    )
    room = capacity - min_after_dequeue

    def fraction(size: Tensor) -> Tensor:
        return cast(maximum(0, size - min_after_dequeue), dtypes.float32) * (1.0 / room)

    return queue, fraction, f"fraction_over_{min_after_dequeue}_of_{room}_full"


def _as_rows(tensors_list: Any) -> tuple[list[Any] | None, list[list[Any]]]:
    """The examples as lists, and the keys if they are dicts."""
    if isinstance(tensors_list, Mapping):
        raise TypeError(
            f"a list of examples is expected, got a dict with keys {list(tensors_list)}"
        )
    rows = list(tensors_list)
    if not rows:
        raise ValueError("Expected at least one set of tensors")
    if not isinstance(rows[0], Mapping):
        lists = [list(row) for row in rows]
        if not lists[0]:
            raise ValueError("Expected at least one tensor in batch().")
        return None, lists
    if not rows[0]:
        raise ValueError("Expected at least one tensor in batch().")
    if any(not isinstance(row, Mapping) or set(row) != set(rows[0]) for row in rows):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    keys = sorted(rows[0], key=str)
    return keys, [[row[key] for key in keys] for row in rows]


def _common_types(examples: list[list[Tensor]]) -> list[dtypes.DType]:
    types = []
    for component in zip(*examples, strict=False):
        first = component[0].dtype.base_dtype
        for tensor in component:
            if tensor.dtype.base_dtype != first:
                raise TypeError(
                    f"Expected types to be consistent: {first.name} vs. "
                    f"{tensor.dtype.base_dtype.name}."
                )
        types.append(first)
    return types


def _common_shapes(
    examples: list[list[Tensor]], given: Any, enqueue_many: bool
) -> list[TensorShape]:
    """Shapes of the components of one example: as given, else those of the first example."""
    if given is not None:
        shapes = [given] if is_single_shape(given) else list(given)
        return [as_shape(shape) for shape in shapes]
    return [_common_shape(component, enqueue_many) for component in zip(*examples, strict=False)]


def _common_shape(component: Sequence[Tensor], enqueue_many: bool) -> TensorShape:
    shapes = []
    for tensor in component:
        shape = tensor.shape
        if shape.rank is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
        shapes.append(shape.with_rank_at_least(1)[1:] if enqueue_many else shape)
    merged = shapes[0]
    for shape in shapes[1:]:
        merged = merged.merge_with(shape)
    return shapes[0]


def _enqueue(queue: QueueBase, example: list[Tensor], enqueue_many: bool) -> Operation:
    return queue.enqueue_many(example) if enqueue_many else queue.enqueue(example)
