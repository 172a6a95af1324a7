"""Queues as nodes of a graph.

A queue object adds operations on one queue to the graph; the queue itself belongs to the session
that runs them.

Source: `tf.QueueBase` and its subclasses of TensorFlow 1.15.
"""

from collections.abc import Sequence
from hashlib import md5
from typing import Any

from headrace.dtypes import DType, as_dtype, int32, int64, resource
from headrace.dtypes import bool as bool_dtype
from headrace.graph import Operation, Tensor, get_default_graph, get_seed, graph_of, name_scope
from headrace.ops.conversion import constant_value, convert_to_tensor
from headrace.shapes import TensorShape, as_shape, unknown_shape

__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "is_single_shape",
]


class QueueBase:
    """The operations that all kinds of queues have.

    An element is a tuple of components; each component has a type and, if the queue was made with
    shapes, a shape.

    Args:
        dtypes: One type a component.
        shapes: One shape a component, or None.
        names: One name a component, or None.
        queue_ref: The tensor that stands for the queue.
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[TensorShape] | None,
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        self._dtypes = list(dtypes)
        self._types = [as_dtype(dtype) for dtype in dtypes]
        if shapes is None:
            self._shapes = [unknown_shape() for _ in self._dtypes]
        else:
            if len(shapes) != len(self._dtypes):
                raise ValueError("Queue shapes must have the same length as dtypes")
            self._shapes = [as_shape(shape) for shape in shapes]
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError("Queue names must have the same length as dtypes")
        self._names = None if names is None else list(names)
        self._queue_ref = queue_ref
        # The last part of the operation's name; the queue's other operations are named after it.
        self._stem = queue_ref.op.name.split("/")[-1]

    @property
    def queue_ref(self) -> Tensor:
        """The tensor that stands for the queue."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[Any]:
        """One type a component, as they were given."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """One shape a component."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """One name a component, or None."""
        return self._names

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Adds an operation that adds one element. It waits while the queue is full.

        Args:
            vals: A list or tuple of components; a dict if the queue has names; anything else is
                the only component.
            name: Name of the operation.

        Raises:
            CancelledError: When run: the queue is closed, or closed with cancelling while it waits.
            TypeError: If a component cannot be converted to its type.
            ValueError: If the components do not fit the queue.
        """
        with name_scope(name, f"{self._stem}_enqueue", self._scope_values(vals)) as scope:
            components = self._convert(vals)
            if not components:
                raise ValueError(f"queue '{self.name}': an element needs at least one component")
            for component, shape in zip(components, self._shapes, strict=False):
                component.shape.assert_is_compatible_with(shape)
            return self._add_op("QueueEnqueueV2", scope, inputs=components)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Adds an operation that adds the rows of its components, in order, as space appears.

        Args:
            vals: As for `enqueue`; each component has one row for each element.
            name: Name of the operation.

        Raises:
            CancelledError: When run, as for `enqueue`; the rows added until then stay in the queue.
            TypeError: If a component cannot be converted to its type.
            ValueError: If the components do not fit the queue, or each other in number of rows.
        """
        with name_scope(name, f"{self._stem}_EnqueueMany", self._scope_values(vals)) as scope:
            components = self._convert(vals)
            rows = components[0].shape.with_rank_at_least(1)[0]
            for component, shape in zip(components, self._shapes, strict=False):
                rows = rows.merge_with(component.shape.with_rank_at_least(1)[0])
                component.shape[1:].assert_is_compatible_with(shape)
            return self._add_op("QueueEnqueueManyV2", scope, inputs=components)

    def dequeue(self, name: str | None = None) -> Any:
        """Adds an operation that takes one element. It waits until there is one.

        Args:
            name: Name of the operation.

        Returns:
            A tensor if there is one component, a list if there are several, a dict of name to
            tensor if the queue has names.

        Raises:
            OutOfRangeError: When run: the queue is closed and empty.
        """
        op = self._add_op(
            "QueueDequeueV2",
            name or f"{self._stem}_Dequeue",
            dtypes=self._types,
            shapes=self._shapes,
        )
        return self._outputs(op)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Adds an operation that takes `n` elements, as they arrive, and stacks them.

        Args:
            n: How many; an integer or a scalar integer tensor. May exceed the capacity.
            name: Name of the operation.

        Returns:
            As `dequeue`, with a new first dimension of size `n`.

        Raises:
            OutOfRangeError: When run: the queue is closed and has fewer; they stay in it.
            ValueError: If `n` is negative.
        """
        return self._dequeue_batch("DequeueMany", n, name)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """As `dequeue_many`, but takes what is left when the queue is closed and has fewer.

        While the queue is open it waits for all `n`.

        Raises:
            OutOfRangeError: When run: the queue is closed and empty.
            ValueError: If `n` is negative.
        """
        return self._dequeue_batch("DequeueUpTo", n, name)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Adds an operation that closes the queue: nothing comes in any more.

        Args:
            cancel_pending_enqueues: Whether enqueues that wait are cancelled; otherwise the close
                waits for them.
            name: Name of the operation.

        Raises:
            CancelledError: When run: a plain close of a queue that is closed already.
        """
        return self._add_op(
            "QueueCloseV2",
            name or f"{self._stem}_Close",
            attrs={"cancel_pending_enqueues": bool(cancel_pending_enqueues)},
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Adds an operation that says whether the queue is closed: a scalar bool."""
        op = self._add_op(
            "QueueIsClosedV2",
            name or f"{self._stem}_Is_Closed",
            dtypes=[bool_dtype],
            shapes=[TensorShape([])],
        )
        return op.outputs[0]

    def size(self, name: str | None = None) -> Tensor:
        """Adds an operation that counts the elements in the queue: a scalar int32."""
        op = self._add_op(
            "QueueSizeV2",
            name or f"{self._stem}_Size",
            dtypes=[int32],
            shapes=[TensorShape([])],
        )
        return op.outputs[0]

    def _scope_values(self, vals: Any) -> list[Any]:
        if isinstance(vals, dict):
            return list(vals.values())
        return list(vals) if isinstance(vals, (list, tuple)) else [vals]

    def _convert(self, vals: Any) -> list[Tensor]:
        """The components as tensors of their types."""
        if isinstance(vals, dict):
            if self._names is None:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            vals = [vals[name] for name in self._names]
        else:
            if self._names is not None:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            if not isinstance(vals, (list, tuple)):
                vals = [vals]
        # Values beyond the components are dropped, as TensorFlow does.
        return [
            convert_to_tensor(value, dtype=dtype, name=f"component_{index}")
            for index, (value, dtype) in enumerate(zip(vals, self._types, strict=False))
        ]

    def _dequeue_batch(self, kind: str, n: Any, name: str | None) -> Any:
        with name_scope(name, f"{self._stem}_{kind}", [self._queue_ref]) as scope:
            count = convert_to_tensor(n, dtype=int32, name="n")
            size = constant_value(count)
            if size is not None and size < 0:
                raise ValueError(f"{kind} requires n to be at least 0: n must be >= 0, got {size}")
            rows = int(size) if size is not None and kind == "DequeueMany" else None
            shapes = [TensorShape([rows]).concatenate(shape) for shape in self._shapes]
            op = self._add_op(
                f"Queue{kind}V2", scope, inputs=[count], dtypes=self._types, shapes=shapes
            )
        return self._outputs(op)

    def _outputs(self, op: Operation) -> Any:
        if self._names is not None:
            return dict(zip(self._names, op.outputs, strict=True))
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)

    def _add_op(
        self,
        op_type: str,
        name: str,
        *,
        inputs: Sequence[Tensor] = (),
        dtypes: Sequence[DType] = (),
        shapes: Sequence[TensorShape] = (),
        attrs: dict[str, Any] | None = None,
    ) -> Operation:
        all_inputs = [self._queue_ref, *inputs]
        graph = graph_of(all_inputs)
        return graph.create_op(
            op_type, all_inputs, dtypes, output_shapes=shapes, name=name, attrs=attrs
        )


class FIFOQueue(QueueBase):
    """A queue whose elements come out as they came in.

    Args:
        capacity: How many elements it holds; negative for any number.
        dtypes: The type of the component, or a list of one for each.
        shapes: None for components of any shape; one shape; or a list of one fully defined shape
            for each component. `dequeue_many` needs them.
        names: Names of the components: elements are dicts then.
        shared_name: Queues of one session that give the same name are one queue.
        name: Name of the operation.

    Raises:
        TypeError: If `capacity` is no integer or `shapes` is no list.
        ValueError: If the numbers of types, shapes and names differ or a shape is not fully
            defined.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        given, types = _as_types(dtypes)
        checked = _as_shapes(shapes, types)
        attrs = _queue_attrs(capacity, types, checked, shared_name)
        ref = _create("FIFOQueueV2", attrs, name)
        super().__init__(given, checked, _as_names(names, types), ref)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements come out in random order.

    Args:
        capacity: As for `FIFOQueue`.
        min_after_dequeue: So many elements stay in the queue while it is open: the larger, the
            better mixed. 0 to `capacity` - 1.
        dtypes: As for `FIFOQueue`.
        shapes: As for `FIFOQueue`.
        names: As for `FIFOQueue`.
        seed: Makes the order repeatable, together with the graph's seed.
        shared_name: As for `FIFOQueue`.
        name: Name of the operation.

    Raises:
        InvalidArgumentError: When run: if `min_after_dequeue` is not in its range.
        TypeError: As for `FIFOQueue`.
        ValueError: As for `FIFOQueue`.

    Source: `tf.RandomShuffleQueue` of TensorFlow 1.15, whose order it gives for the same seeds.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        given, types = _as_types(dtypes)
        checked = _as_shapes(shapes, types)
        attrs = _queue_attrs(capacity, types, checked, shared_name)
        seed1, seed2 = get_seed(seed)
        if seed is None and seed1 is not None and shared_name is not None:
            # All operations of one shared queue must agree on its seed.
            digest = md5(f"{seed1}{shared_name}".encode()).hexdigest()
            seed2 = int(digest[:8], 16) & 0x7FFFFFFF
        attrs |= {
            "min_after_dequeue": _as_integer(min_after_dequeue, "min_after_dequeue"),
            "seed": seed1 or 0,
            "seed2": seed2 or 0,
        }
        ref = _create("RandomShuffleQueueV2", attrs, name)
        super().__init__(given, checked, _as_names(names, types), ref)


class PaddingFIFOQueue(QueueBase):
    """A FIFO queue of elements of different sizes; a batch is padded to the largest in it.

    Args:
        capacity: As for `FIFOQueue`.
        dtypes: As for `FIFOQueue`.
        shapes: A list of one shape for each component, of known rank; the unknown dimensions, None,
            are those that are padded, with 0, "" or False.
        names: As for `FIFOQueue`.
        shared_name: As for `FIFOQueue`.
        name: Name of the operation.

    Raises:
        TypeError: As for `FIFOQueue`.
        ValueError: If `shapes` is no list of shapes, or a rank is not known, or their number is
            not that of the types.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        given, types = _as_types(dtypes)
        if not isinstance(shapes, (list, tuple)) or is_single_shape(shapes):
            raise ValueError("When providing partial shapes, a list of shapes must be provided.")
        checked = [as_shape(shape) for shape in shapes]
        if any(shape.rank is None for shape in checked):
            raise ValueError(f"All shapes must have a defined rank: {checked}")
        if len(checked) != len(types):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(types)} dtypes and "
                f"{len(checked)} shapes."
            )
        attrs = _queue_attrs(capacity, types, checked, shared_name)
        ref = _create("PaddingFIFOQueueV2", attrs, name)
        super().__init__(given, checked, _as_names(names, types), ref)


class PriorityQueue(QueueBase):
    """A queue whose elements come out by priority, smallest number first.

    The priority is component 0, a scalar int64, of everything that goes in and comes out. Elements
    of equal priority come out in no particular order.

    Args:
        capacity: As for `FIFOQueue`.
        types: Types of the components after the priority.
        shapes: Shapes of the components after the priority; a list.
        names: Names of all components, the priority first.
        shared_name: As for `FIFOQueue`.
        name: Name of the operation.

    Raises:
        TypeError: If `shapes` is no list.
        ValueError: As for `FIFOQueue`.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        given, component_types = _as_types(types)
        checked = _as_shapes(shapes, component_types)
        if checked is None:
            raise TypeError(
                "Expected list for 'shapes' argument to 'priority_queue_v2' Op, not None."
            )
        attrs = _queue_attrs(capacity, component_types, checked, shared_name)
        ref = _create("PriorityQueueV2", attrs, name)
        all_names = None
        if names is not None:
            all_names = list(names) if isinstance(names, (list, tuple)) else [names]
        super().__init__([int64, *given], [TensorShape([]), *checked], all_names, ref)


def _create(op_type: str, attrs: dict[str, Any], name: str) -> Tensor:
    op = get_default_graph().create_op(
        op_type, [], [resource], output_shapes=[TensorShape([])], name=name, attrs=attrs
    )
    return op.outputs[0]


def _queue_attrs(
    capacity: Any, types: list[DType], shapes: list[TensorShape] | None, shared_name: str | None
) -> dict[str, Any]:
    return {
        "capacity": _as_integer(capacity, "capacity"),
        "component_types": types,
        "shapes": shapes or [],
        "shared_name": shared_name or "",
        "container": "",
    }


def _as_integer(value: Any, what: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"Expected int for argument '{what}' not {value!r} of type {type(value).__name__}."
        ) from None


def _as_types(dtypes: Any) -> tuple[list[Any], list[DType]]:
    """The types as given, in a list, and as `DType`s."""
    assert dtypes is not None, "dtypes must be given"
    given = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]
    return given, [as_dtype(dtype) for dtype in given]


def _as_names(names: Any, types: list[DType]) -> list[str] | None:
    if names is None:
        return None
    given = list(names) if isinstance(names, (list, tuple)) else [names]
    if len(given) != len(types):
        raise ValueError("List of names must have the same length as the list of dtypes")
    return given


def is_single_shape(shapes: Sequence[Any]) -> bool:
    """Whether a list is one shape, of integers and None, and no list of shapes."""
    return all(dim is None or isinstance(dim, int) for dim in shapes)


def _as_shapes(shapes: Any, types: list[DType]) -> list[TensorShape] | None:
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (list, tuple)):
        raise TypeError(
            f"shapes must be a TensorShape or a list or tuple of TensorShapes, got {type(shapes)}."
        )
    if is_single_shape(shapes):
        shapes = [shapes]
    checked = [as_shape(shape) for shape in shapes]
    if any(not shape.is_fully_defined() for shape in checked):
        raise ValueError(f"All shapes must be fully defined: {checked}")
    if len(checked) != len(types):
        raise ValueError("Queue shapes must have the same length as dtypes")
    return checked
