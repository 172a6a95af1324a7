"""Batchers: a runner's threads enqueue examples, and batches are dequeued.

Source: `tensorflow/python/training/input.py` in TensorFlow 1.15.
"""

from collections.abc import Iterable
from typing import Any

from headrace.graph import TensorLike
from headrace.tf1.input.batcher import Batcher, InOrder, Shuffled
from headrace.tf1.input.components import ExampleLike, ExampleShapes

__all__ = ["batch", "batch_join", "shuffle_batch", "shuffle_batch_join"]


def batch(
    tensors: ExampleLike,
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
    """Returns batches of examples. Each example is one value of `tensors`.

    Args:
        tensors: One example: a list or dict of tensors.
        batch_size: The number of examples in a batch.
        num_threads: The number of threads that compute examples. With more than one thread, the
            order is not kept.
        capacity: The maximum number of examples in the queue.
        enqueue_many: Whether each tensor contains several examples (or none), one per row.
        shapes: The shapes of the tensors of one example, if they are unknown.
        dynamic_pad: Whether tensors of unknown size are padded with 0 or "" to the largest one in
            the batch.
        allow_smaller_final_batch: Whether the remaining examples at the end form a smaller batch.
            If False, they are dropped.
        shared_name: See `FIFOQueue`.
        name: Name of the operations.

    Returns:
        The tensors with a new first dimension: a dict if `tensors` is a dict, a single tensor if it
        is a list with one item, and a list otherwise.

    Raises:
        OutOfRangeError: At run time, if the input has ended or failed. `Coordinator.join` raises
            the error.
        ValueError: If `tensors` is empty, or the shapes of the tensors are unknown.
    """
    waiting = InOrder(capacity, dynamic_pad, shared_name)
    batcher = Batcher(waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name)
    return batcher.batch(tensors, num_threads, "batch")


def batch_join(
    tensors_list: Iterable[ExampleLike],
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: ExampleShapes | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `batch`, with one thread for each example in `tensors_list`.

    Use a separate reader for each example, so that several files are read at the same time. The
    input ends when all examples have ended.
    """
    waiting = InOrder(capacity, dynamic_pad, shared_name)
    batcher = Batcher(waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name)
    return batcher.batch_join(tensors_list, "batch_join")


def shuffle_batch(
    tensors: ExampleLike,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: ExampleShapes | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `batch`, but draws the examples from the queue at random.

    Even with all seeds set (`set_random_seed`, or the seeds of this function, the producer and
    random operations) and one thread, each draw depends on the elements that are in the queue at
    that moment, as in TensorFlow. The batches are the same in every run if one of these is true:

    - the input has at most `min_after_dequeue` examples, so all are drawn after its end;
    - `capacity` is `min_after_dequeue` + 1;
    - the queue is full, or the input has ended, when the first batch is taken, and from then on
      examples arrive faster than batches are taken.

    Otherwise, or with several threads, the order can differ between runs. Each example still occurs
    once per epoch.

    Args:
        tensors: See `batch`.
        batch_size: See `batch`.
        capacity: The maximum number of examples in the queue. It must exceed `min_after_dequeue`.
        min_after_dequeue: The minimum number of examples that stay in the queue. A larger number
            improves shuffling.
        num_threads: See `batch`.
        seed: Makes the draws repeatable, within the limits above.
        enqueue_many: See `batch`.
        shapes: See `batch`.
        allow_smaller_final_batch: See `batch`.
        shared_name: See `FIFOQueue`.
        name: Name of the operations.

    Raises:
        ValueError: See `batch`. Also raised if `capacity` does not exceed `min_after_dequeue`.
    """
    waiting = Shuffled(capacity, min_after_dequeue, seed, shared_name)
    batcher = Batcher(waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name)
    return batcher.batch(tensors, num_threads, "shuffle_batch")


def shuffle_batch_join(
    tensors_list: Iterable[ExampleLike],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: ExampleShapes | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches like `shuffle_batch`, with a thread for each example; see `batch_join`.

    The order is repeatable only if the list contains one example.
    """
    waiting = Shuffled(capacity, min_after_dequeue, seed, shared_name)
    batcher = Batcher(waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name)
    return batcher.batch_join(tensors_list, "shuffle_batch_join")
