"""Batchers: the threads of a runner enqueue examples, which are dequeued in batches.

Source: `tensorflow/python/training/input.py` of TensorFlow 1.15.
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
    """Returns batches of examples, each a value of `tensors`.

    Args:
        tensors: One example: a list or dict of tensors.
        batch_size: Examples in a batch.
        num_threads: Threads that compute examples. With more than one, their order is not kept.
        capacity: The number of examples that the queue holds.
        enqueue_many: Whether each tensor has several examples, one in each row; there may be none.
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
    """Returns batches as `batch` does, with a thread for each example of `tensors_list`.

    Give each example a separate reader, so that several files are read at the same time. The input
    ends when all of them have ended.
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
    """Returns batches as `batch` does, of examples drawn at random from the queue.

    With all seeds set (`set_random_seed`, or the seeds of this function, of the producer and of
    random operations) and one thread, each draw is from the elements in the queue at that moment,
    as in TensorFlow. So the batches are the same in every run if these do not depend on time:

    - the input has `min_after_dequeue` examples at most: all are drawn after its end;
    - `capacity` is `min_after_dequeue` + 1;
    - the queue is full, or the input over, when the first batch is taken, and examples come faster
      than batches are taken from then on.

    Otherwise, and with several threads, the order of two runs may differ. Each example occurs once
    in each epoch in any case.

    Args:
        tensors: As for `batch`.
        batch_size: As for `batch`.
        capacity: The number of examples that the queue holds; more than `min_after_dequeue`.
        min_after_dequeue: The number that stays in the queue after a draw: the more, the better
            mixed.
        num_threads: As for `batch`.
        seed: Makes the draws repeatable, within the limits above.
        enqueue_many: As for `batch`.
        shapes: As for `batch`.
        allow_smaller_final_batch: As for `batch`.
        shared_name: As for `FIFOQueue`.
        name: Name of the operations.

    Raises:
        ValueError: As `batch`; or if `capacity` is not more than `min_after_dequeue`.
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
    """Returns batches as `shuffle_batch` does, with a thread for each example; see `batch_join`.

    The order is repeatable only with one example in the list.
    """
    waiting = Shuffled(capacity, min_after_dequeue, seed, shared_name)
    batcher = Batcher(waiting, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name)
    return batcher.batch_join(tensors_list, "shuffle_batch_join")
