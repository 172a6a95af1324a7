"""Batchers that keep only some of the examples.

Source: `tensorflow/python/training/input.py` in TensorFlow 1.15.
"""

from collections.abc import Iterable
from typing import Any

from headrace.graph import TensorLike
from headrace.tf1.input.batcher import Batcher, InOrder, Shuffled
from headrace.tf1.input.components import ExampleLike, ExampleShapes

__all__ = ["maybe_batch", "maybe_batch_join", "maybe_shuffle_batch", "maybe_shuffle_batch_join"]


def maybe_batch(
    tensors: ExampleLike,
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: ExampleShapes | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `batch`, but keeps only examples for which a condition is true.

    The tensors of the other examples are still computed.

    Args:
        tensors: See `batch`.
        keep_input: A bool scalar: whether to keep this example, or all examples if `enqueue_many`
            is True. In that case, it can also be a bool vector with one element per example.
        batch_size: See `batch`.
        num_threads: See `batch`.
        capacity: See `batch`.
        enqueue_many: See `batch`.
        shapes: See `batch`.
        dynamic_pad: See `batch`.
        allow_smaller_final_batch: See `batch`.
        shared_name: See `batch`.
        name: See `batch`.

    Raises:
        OutOfRangeError: See `batch`.
        ValueError: See `batch`. Also raised if `keep_input` has too many dimensions or an unknown
            rank.
    """
    waiting = InOrder(capacity, dynamic_pad, shared_name)
    batcher = Batcher(
        waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name, keep_input
    )
    return batcher.batch(tensors, num_threads, "batch")


def maybe_batch_join(
    tensors_list: Iterable[ExampleLike],
    keep_input: TensorLike,
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: ExampleShapes | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `batch_join`, with a condition; see `maybe_batch`.

    The same condition applies to every example in `tensors_list`.
    """
    waiting = InOrder(capacity, dynamic_pad, shared_name)
    batcher = Batcher(
        waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name, keep_input
    )
    return batcher.batch_join(tensors_list, "batch_join")


def maybe_shuffle_batch(
    tensors: ExampleLike,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: ExampleShapes | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `shuffle_batch`, with a condition; see `maybe_batch`."""
    waiting = Shuffled(capacity, min_after_dequeue, seed, shared_name)
    batcher = Batcher(
        waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name, keep_input
    )
    return batcher.batch(tensors, num_threads, "shuffle_batch")


def maybe_shuffle_batch_join(
    tensors_list: Iterable[ExampleLike],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: ExampleShapes | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `shuffle_batch_join`, with a condition; see `maybe_batch`."""
    waiting = Shuffled(capacity, min_after_dequeue, seed, shared_name)
    batcher = Batcher(
        waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name, keep_input
    )
    return batcher.batch_join(tensors_list, "shuffle_batch_join")
