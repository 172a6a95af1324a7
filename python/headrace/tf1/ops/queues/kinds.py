"""The kinds of queues, which differ in the order in which elements are dequeued.

Source: `tf.FIFOQueue`, `tf.RandomShuffleQueue`, `tf.PaddingFIFOQueue` and `tf.PriorityQueue` of
TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5
from typing import Any, SupportsInt, cast

from headrace.core.dtypes import DType, DTypeLike, int64, resource
from headrace.core.shapes import ShapeLike, TensorShape
from headrace.graph import Role, Tensor, define, get_default_graph, get_seed
from headrace.tf1.ops.queues.arguments import (
    Shapes,
    as_integer,
    as_names,
    as_partial_shapes,
    as_shapes,
    as_shared_name,
    as_types,
)
from headrace.tf1.ops.queues.queue import QueueBase

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"]

_UNBOUNDED = -1


class FIFOQueue(QueueBase):
    """A first-in, first-out queue.

    Args:
        capacity: The maximum number of elements. None or a negative number means no limit.
        dtypes: The type of the component, or a list with one type per component.
        shapes: The shape of the component, or a list with one fully defined shape per component. By
            default, components can have any shape. `dequeue_many` requires shapes.
        names: The names of the components. If given, elements are dicts.
        shared_name: Queues with the same name share their elements in a session.
        name: Name of the operation.

    Raises:
        TypeError: If `capacity` is not a number, `shapes` is not a list, or `shared_name` is not a
            string.
        ValueError: If the numbers of types, shapes and names differ, or a shape is not fully
            defined.
    """

    def __init__(
        self,
        capacity: SupportsInt | None,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Shapes | None = None,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        dtype_list, types = as_types(dtypes)
        checked = as_shapes(shapes, len(types))
        names = as_names(names, len(types))
        ref = _create("FIFOQueueV2", name, capacity, types, checked, shared_name)
        super().__init__(dtype_list, checked, names, ref)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements are dequeued in random order.

    Args:
        capacity: See `FIFOQueue`.
        min_after_dequeue: The minimum number of elements that stay in the queue while it is open,
            from 0 to `capacity` - 1. A larger number improves shuffling.
        dtypes: See `FIFOQueue`.
        shapes: See `FIFOQueue`.
        names: See `FIFOQueue`.
        seed: The seed of the order. Together with the seed of the graph, it makes the order
            repeatable, if the number of elements at each draw is the same.
        shared_name: See `FIFOQueue`.
        name: Name of the operation.

    Raises:
        InvalidArgumentError: At run time, if `min_after_dequeue` is out of range.
        TypeError: See `FIFOQueue`.
        ValueError: See `FIFOQueue`.

    Source: `tf.RandomShuffleQueue` in TensorFlow 1.15. The same seeds result in the same order.
    """

    def __init__(
        self,
        capacity: SupportsInt | None,
        min_after_dequeue: SupportsInt | None,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Shapes | None = None,
        names: str | Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        dtype_list, types = as_types(dtypes)
        checked = as_shapes(shapes, len(types))
        names = as_names(names, len(types))
        seed1, seed2 = get_seed(seed)
        if seed is None and seed1 is not None and shared_name is not None:
            # All operations that share a queue must use the same seed.
            digest = md5(f"{seed1}{as_shared_name(shared_name)}".encode()).hexdigest()
            seed2 = int(digest[:8], 16) & 0x7FFFFFFF
        ref = _create(
            "RandomShuffleQueueV2",
            name,
            capacity,
            types,
            checked,
            shared_name,
            min_after_dequeue=as_integer(min_after_dequeue, "min_after_dequeue", 0),
            seed=int(seed1 or 0),
            seed2=int(seed2 or 0),
        )
        super().__init__(dtype_list, checked, names, ref)


class PaddingFIFOQueue(QueueBase):
    """A FIFO queue for elements of different sizes. Each batch is padded to its largest element.

    Args:
        capacity: See `FIFOQueue`.
        dtypes: See `FIFOQueue`.
        shapes: A list with one shape of known rank per component. Unknown dimensions (None) are
            padded with 0, "" or False.
        names: See `FIFOQueue`.
        shared_name: See `FIFOQueue`.
        name: Name of the operation.

    Raises:
        TypeError: See `FIFOQueue`.
        ValueError: If `shapes` is not a list of shapes, a rank is unknown, or the numbers of shapes
            and types differ.
    """

    def __init__(
        self,
        capacity: SupportsInt | None,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike],
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        dtype_list, types = as_types(dtypes)
        checked = as_partial_shapes(shapes, len(types))
        names = as_names(names, len(types))
        ref = _create("PaddingFIFOQueueV2", name, capacity, types, checked, shared_name)
        super().__init__(dtype_list, checked, names, ref)


class PriorityQueue(QueueBase):
    """A queue whose elements are dequeued by priority, smallest number first.

    The priority is component 0 of every element, a scalar int64. Elements of equal priority are
    dequeued in no particular order.

    Args:
        capacity: See `FIFOQueue`.
        types: The types of the components after the priority.
        shapes: The shapes of the components after the priority, as a list.
        names: The names of all components, starting with the priority.
        shared_name: See `FIFOQueue`.
        name: Name of the operation.

    Raises:
        TypeError: See `FIFOQueue`. Also raised if `shapes` is None.
        ValueError: See `FIFOQueue`.
    """

    def __init__(
        self,
        capacity: SupportsInt | None,
        types: DTypeLike | Sequence[DTypeLike],
        shapes: Shapes | None = None,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        dtype_list, component_types = as_types(types)
        checked = as_shapes(shapes, len(component_types))
        if checked is None:
            raise TypeError(
                "Expected list for 'shapes' argument to 'priority_queue_v2' Op, not None."
            )
        if names is not None and not isinstance(names, (list, tuple)):
            names = [cast("str", names)]
        ref = _create("PriorityQueueV2", name, capacity, component_types, checked, shared_name)
        super().__init__([int64, *dtype_list], [TensorShape([]), *checked], names, ref)


def _create(
    op_type: str,
    name: str,
    capacity: SupportsInt | None,
    types: list[DType],
    shapes: list[TensorShape] | None,
    shared_name: str | bytes | None,
    **attrs: int,
) -> Tensor:
    """Adds the operation that represents a queue, and returns its output."""
    all_attrs: dict[str, Any] = {
        **attrs,
        "capacity": as_integer(capacity, "capacity", _UNBOUNDED),
        "component_types": types,
        "shapes": shapes or [],
        "shared_name": as_shared_name(shared_name),
        "container": "",
    }
    graph = get_default_graph()
    # TensorFlow requests the CPU for this kind only.
    with graph.device("CPU" if op_type == "FIFOQueueV2" else ""):
        op = graph.create_op(
            op_type, [], [resource], output_shapes=[TensorShape([])], name=name, attrs=all_attrs
        )
    return op.outputs[0]


define("FIFOQueueV2", role=Role.QUEUE, queue_class="FIFOQueue")
define("PaddingFIFOQueueV2", role=Role.QUEUE, queue_class="PaddingFIFOQueue")
define("PriorityQueueV2", role=Role.QUEUE, queue_class="PriorityQueue")
define("RandomShuffleQueueV2", role=Role.QUEUE, queue_class="RandomShuffleQueue")
