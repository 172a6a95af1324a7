"""`slim.prefetch_queue`: a queue that is filled with batches ahead of time.

Source: `tf.contrib.slim.prefetch_queue` in TensorFlow 1.15.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.graph import name_scope
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.cast import cast
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.queues import FIFOQueue, PaddingFIFOQueue, QueueBase
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = ["prefetch_queue"]


def prefetch_queue(
    tensors: Sequence[Any] | Mapping[str, Any],
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Returns a queue that a runner fills with tensors computed in advance.

    Args:
        tensors: A list or dict of tensors. `dequeue` returns the same structure.
        capacity: The maximum number of batches in the queue.
        num_threads: The number of threads that compute batches.
        dynamic_pad: Whether shapes can be partially known.
        shared_name: Name of the queue in the session.
        name: Name scope of the operations.

    Raises:
        ValueError: If a shape is not fully known and `dynamic_pad` is False.
    """
    names = None
    if isinstance(tensors, Mapping):
        names = sorted(tensors)
        tensors = [tensors[key] for key in names]
    with name_scope(name, "prefetch_queue", tensors):
        converted = [convert_to_tensor(tensor) for tensor in tensors]
        dtypes = [tensor.dtype for tensor in converted]
        shapes = [tensor.shape for tensor in converted]
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(capacity, dtypes, shapes, names=names, shared_name=shared_name)
        value = dict(zip(names, converted, strict=True)) if names else converted
        add_queue_runner(QueueRunner(queue, [queue.enqueue(value)] * num_threads))
        share = cast(queue.size(), "float32") * (1.0 / capacity)
        scalar(f"fraction_of_{capacity}_full", share)
        return queue


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
