"""The four kinds of queues, which differ in the order of their elements.

Source: `tf.FIFOQueue` and the other queues in TensorFlow 1.15, which follow the same rules and
orders.
"""

import sys
from collections.abc import Sequence
from typing import Final

from headrace.core import engine
from headrace.core.dtypes import DTypesLike, int64
from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import ShapesLike, TensorShape
from headrace.tf1.queues.queue import Queue, as_integer
from headrace.tf1.queues.signature import Signature, as_shapes, as_types

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"]

# TensorFlow's seed for a graph without a seed, so that this queue has the same order as one in a
# graph.
_GRAPH_SEED: Final = 87654321


class FIFOQueue(Queue):
    """A queue whose elements are dequeued in the order in which they were added.

    Args:
        capacity: The number of elements that the queue can hold. A negative number means no limit.
        dtypes: The dtype of the component, or a list with the dtype of each component.
        shapes: One shape, or a list with a fully defined shape for each component. By default,
            components can have any shape. `dequeue_many` requires shapes.
        names: The names of the components. If given, elements are dicts.
        name: The name of the queue in messages.

    Raises:
        TypeError: If `capacity` is not an integer, or a dtype or shape is invalid.
        ValueError: If the numbers of dtypes, shapes and names differ, or a shape is not fully
            defined.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypesLike,
        shapes: ShapesLike | None = None,
        names: str | Sequence[str] | None = None,
        name: str = "fifo_queue",
    ) -> None:
        signature = _signature(name, dtypes, shapes, names)
        super().__init__(capacity, signature, "FIFOQueue")


class RandomShuffleQueue(Queue):
    """A queue whose elements are dequeued in random order.

    Args:
        capacity: See `FIFOQueue`.
        min_after_dequeue: The number of elements that stay in the queue while it is open, from 0 to
            `capacity` - 1. A larger number improves shuffling.
        dtypes: See `FIFOQueue`.
        shapes: See `FIFOQueue`.
        names: See `FIFOQueue`.
        seed: The seed of the order. By default, the order is different each time.
        name: See `FIFOQueue`.

    Raises:
        InvalidArgumentError: If `min_after_dequeue` is out of range.
        TypeError: See `FIFOQueue`.
        ValueError: See `FIFOQueue`.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: DTypesLike,
        shapes: ShapesLike | None = None,
        names: str | Sequence[str] | None = None,
        seed: int | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        signature = _signature(name, dtypes, shapes, names)
        least = as_integer(min_after_dequeue, name, "min_after_dequeue")
        if least < 0:
            text = f"queue '{name}': min_after_dequeue {least} must be >= 0."
            raise InvalidArgumentError(None, None, text)
        seeds = (0, 0) if seed is None else (_GRAPH_SEED, as_integer(seed, name, "seed"))
        super().__init__(capacity, signature, engine.ShuffleOrder(least, *seeds))


class PaddingFIFOQueue(Queue):
    """A FIFO queue for elements of different sizes. Each batch is padded to its largest element.

    Args:
        capacity: See `FIFOQueue`.
        dtypes: See `FIFOQueue`.
        shapes: One shape, or a list with a shape of known rank for each component. Unknown
            dimensions, None, are padded with 0, "" or False in a batch. `dequeue` returns elements
            without padding.
        names: See `FIFOQueue`.
        name: See `FIFOQueue`.

    Raises:
        TypeError: See `FIFOQueue`. Also raised if `shapes` is None.
        ValueError: If the numbers of dtypes, shapes and names differ, or a rank is unknown.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypesLike,
        shapes: ShapesLike,
        names: str | Sequence[str] | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        signature = _signature(name, dtypes, _given(shapes, name), names, is_padded=True)
        super().__init__(capacity, signature, "PaddingFIFOQueue")


class PriorityQueue(Queue):
    """A queue whose elements are dequeued by priority, smallest number first.

    The priority is component 0 of every element, a scalar int64. Elements with equal priority are
    dequeued in an unspecified order. A batch is taken as a whole, so `dequeue_many` waits forever
    if `n` exceeds the capacity.

    Args:
        capacity: See `FIFOQueue`.
        types: The dtypes of the components after the priority.
        shapes: The shapes of the components after the priority.
        names: The names of all components, starting with the priority.
        name: See `FIFOQueue`.

    Raises:
        TypeError: See `FIFOQueue`. Also raised if `shapes` is None.
        ValueError: See `FIFOQueue`.
    """

    def __init__(
        self,
        capacity: int,
        types: DTypesLike,
        shapes: ShapesLike,
        names: str | Sequence[str] | None = None,
        name: str = "priority_queue",
    ) -> None:
        all_shapes = [TensorShape([]), *as_shapes(_given(shapes, name))]
        signature = _signature(name, [int64, *as_types(types)], all_shapes, names)
        super().__init__(capacity, signature, "PriorityQueue")


def _given(shapes: ShapesLike | None, name: str) -> ShapesLike:
    if shapes is None:
        raise TypeError(f"queue '{name}': shapes is None, expected one shape for each component.")
    return shapes


def _signature(
    name: str,
    dtypes: DTypesLike,
    shapes: ShapesLike | None,
    names: str | Sequence[str] | None,
    is_padded: bool = False,
) -> Signature:
    checked = None if shapes is None else as_shapes(shapes)
    for shape in checked or ():
        if shape.rank is None or (not shape.is_fully_defined() and not is_padded):
            remedy = "Set the rank" if is_padded else "Set every dimension, or pad"
            raise ValueError(
                f"queue '{name}': the shape {shape} is not fully defined. {remedy} "
                "(PaddingFIFOQueue)."
            )
        if any(size is not None and size > sys.maxsize for size in shape.as_list()):
            raise ValueError(
                f"queue '{name}': the shape {shape} has a size that does not fit into 64 bits."
            )
    if isinstance(names, str):
        names = [names]
    return Signature(name, as_types(dtypes), checked, names)
