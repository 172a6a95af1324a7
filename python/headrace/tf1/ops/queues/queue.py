"""The operations that all queues have in common, and the selection of one of several queues.

Source: `tf.QueueBase` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int32, int64, resource, string
from headrace.core.dtypes import bool as bool_dtype
from headrace.core.shapes import TensorShape, as_shape, unknown_shape
from headrace.graph import Operation, Role, Tensor, TensorLike, define, graph_of, name_scope
from headrace.ops.array.gather import gather
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.conversion import constant_value, convert_to_tensor
from headrace.tf1.ops.paths import FileNames, with_paths_as_strings

__all__ = ["QueueBase"]


# The components of an element: several, the only one, or a dict of them by name.
Components: TypeAlias = "FileNames | Mapping[str, Any]"


class QueueBase:
    """The operations that all kinds of queues have.

    An element is a tuple of components. Each component has a type and, if the queue was created
    with shapes, a shape.

    Args:
        dtypes: The type of each component.
        shapes: The shape of each component, or None.
        names: The name of each component, or None.
        queue_ref: The tensor that represents the queue.
    """

    def __init__(
        self,
        dtypes: Sequence[DTypeLike],
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
                raise ValueError(
                    "Queue shapes must have the same length as dtypes: got "
                    f"{len(shapes)} shapes, expected {len(self._dtypes)}."
                )
            self._shapes = [as_shape(shape) for shape in shapes]
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError(
                "Queue names must have the same length as dtypes: got "
                f"{len(names)} names, expected {len(self._dtypes)}."
            )
        self._names = None if names is None else list(names)
        self._queue_ref = queue_ref
        self._runners: list[Any] = []
        if queue_ref.op.owner is None:
            queue_ref.op.owner = self
        # The last part of the operation's name. The names of the queue's other operations are
        # derived from it.
        self._stem = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: TensorLike, queues: Sequence[QueueBase]) -> QueueBase:
        """Creates a queue that represents one of several queues, selected in each run.

        Args:
            index: The position in `queues`, an integer or a scalar integer tensor.
            queues: Queues with the same component types and names.

        Returns:
            A queue with these types and names, and the common part of their shapes.

        Raises:
            InvalidArgumentError: When an operation of the result is run, if the index is out of
                range.
            TypeError: If `queues` is not a list of queues, or their types or names differ.
            ValueError: If `index` is known not to be a scalar.
        """
        is_list = isinstance(queues, list) and all(isinstance(queue, QueueBase) for queue in queues)
        if not is_list or not queues:
            raise TypeError(f"A list of queues expected, got {queues!r}.")
        first = queues[0]
        if any(queue._types != first._types for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(queue._names != first._names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        return QueueBase(first.dtypes, _shapes_of_all(queues), first.names, _select(index, queues))

    @property
    def queue_ref(self) -> Tensor:
        """The tensor that represents the queue."""
        return self._queue_ref

    @property
    def runners(self) -> list[Any]:
        """The queue runners of the queue, in a new list."""
        return list(self._queue_ref.op.owner._runners)

    def add_runner(self, runner: object) -> None:
        """Records a queue runner for the queue. You don't need to call this, because runners do."""
        self._queue_ref.op.owner._runners.append(runner)

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[Any]:
        """A new list of the component types, as the caller passed them."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the components, in a new list."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """The names of the components in a new list, or None."""
        return None if self._names is None else list(self._names)

    def enqueue(self, vals: Components, name: str | None = None) -> Operation:
        """Adds an operation that adds one element, waiting while the queue is full.

        Args:
            vals: A list or tuple of components, or a dict if the queue has names. Any other value
                is the only component. A string component can be a `pathlib.Path` or a list of
                paths.
            name: Name of the operation.

        Raises:
            CancelledError: At run time, if the queue is closed, or another operation closes it and
                cancels enqueues.
            TypeError: If a component cannot be converted to its type.
            ValueError: If the components do not match the queue.
        """
        with name_scope(name, f"{self._stem}_enqueue", self._scope_values(vals)) as scope:
            components = self._convert(vals)
            if not components:
                raise ValueError(
                    f"queue '{self.name}': got no components, expected {len(self._types)}."
                )
            for component, shape in zip(components, self._shapes, strict=False):
                component.shape.assert_is_compatible_with(shape)
            return self._add_enqueue("QueueEnqueueV2", scope, components)

    def enqueue_many(self, vals: Components, name: str | None = None) -> Operation:
        """Adds an operation that adds the rows of the components as elements, in order.

        Args:
            vals: See `enqueue`. Each component has one row per element.
            name: Name of the operation.

        Raises:
            CancelledError: When run; see `enqueue`. Rows that were already added stay in the queue.
            TypeError: If a component cannot be converted to its type.
            ValueError: If the components do not match the queue, or their numbers of rows differ.
        """
        with name_scope(name, f"{self._stem}_EnqueueMany", self._scope_values(vals)) as scope:
            components = self._convert(vals)
            rows = components[0].shape.with_rank_at_least(1)[0]
            for component, shape in zip(components, self._shapes, strict=False):
                rows = rows.merge_with(component.shape.with_rank_at_least(1)[0])
                component.shape[1:].assert_is_compatible_with(shape)
            return self._add_enqueue("QueueEnqueueManyV2", scope, components)

    def dequeue(self, name: str | None = None) -> Any:
        """Adds an operation that takes one element, waiting for it if necessary.

        Args:
            name: Name of the operation.

        Returns:
            A tensor if there is one component, a list if there are several, or a dict if the queue
            has names.

        Raises:
            OutOfRangeError: At run time, if the queue is closed and empty.
        """
        op = self._add_op(
            "QueueDequeueV2",
            name or f"{self._stem}_Dequeue",
            dtypes=self._types,
            shapes=self._shapes,
            attrs=self._dequeue_attrs(),
        )
        return self._outputs(op)

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """Adds an operation that takes `n` elements as they arrive and stacks them.

        Args:
            n: The number of elements, an integer or a scalar integer tensor. It can exceed the
                queue's capacity.
            name: Name of the operation.

        Returns:
            The same as from `dequeue`, with a new first dimension of size `n`.

        Raises:
            OutOfRangeError: When run, if the queue is closed and has fewer than `n` elements. These
                elements stay in the queue.
            InvalidArgumentError: When run, if `n` is negative, or the queue was created without
                shapes.
            ValueError: If `n` is known to be negative.
        """
        return self._dequeue_batch("DequeueMany", n, name)

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """Adds an operation like `dequeue_many`, but takes fewer elements once the queue is closed.

        While the queue is open, the operation waits for `n` elements.

        Raises:
            OutOfRangeError: At run time, if the queue is closed and empty.
            InvalidArgumentError: When run; see `dequeue_many`.
        """
        return self._dequeue_batch("DequeueUpTo", n, name)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Adds an operation that closes the queue. Nothing can be enqueued after that.

        Args:
            cancel_pending_enqueues: Whether to cancel waiting enqueues. If False, the operation
                waits for them.
            name: Name of the operation.

        Raises:
            CancelledError: At run time, if the queue is already closed and
                `cancel_pending_enqueues` is False.
            TypeError: If `cancel_pending_enqueues` is not a bool.
        """
        if not isinstance(cancel_pending_enqueues, (bool, np.bool_)):
            raise TypeError(
                "Expected bool for argument 'cancel_pending_enqueues' not "
                f"{cancel_pending_enqueues!r}."
            )
        return self._add_op(
            "QueueCloseV2",
            name or f"{self._stem}_Close",
            attrs={"cancel_pending_enqueues": bool(cancel_pending_enqueues)},
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns as a bool scalar whether the queue is closed."""
        op = self._add_op(
            "QueueIsClosedV2",
            name or f"{self._stem}_Is_Closed",
            dtypes=[bool_dtype],
            shapes=[TensorShape([])],
        )
        return op.outputs[0]

    def size(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of elements in the queue as an int32 scalar."""
        op = self._add_op(
            "QueueSizeV2",
            name or f"{self._stem}_Size",
            dtypes=[int32],
            shapes=[TensorShape([])],
        )
        return op.outputs[0]

    def _scope_values(self, vals: Components) -> list[Any]:
        """Returns the values that determine the graph, including the queue's own tensor."""
        if isinstance(vals, dict):
            return [self._queue_ref, *vals.values()]
        return [self._queue_ref, *(vals if isinstance(vals, (list, tuple)) else [vals])]

    def _convert(self, vals: Components) -> list[Tensor]:
        """Returns the components as tensors of the queue's dtypes."""
        values: Any = vals if isinstance(vals, (list, tuple)) else [vals]
        if isinstance(vals, dict):
            if self._names is None:
                raise ValueError("Queue must have names to enqueue a dictionary")
            keys, expected = sorted(vals, key=str), sorted(self._names, key=str)
            if keys != expected:
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"{keys}, Queue: {expected}"
                )
            values = [vals[name] for name in self._names]
        elif self._names is not None:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        # As in TensorFlow, values beyond the components are dropped.
        return [
            convert_to_tensor(_strings(value, dtype), dtype=dtype, name=f"component_{index}")
            for index, (value, dtype) in enumerate(zip(values, self._types, strict=False))
        ]

    def _dequeue_batch(self, kind: str, n: TensorLike, name: str | None) -> Any:
        def infer(_queue: Tensor, count: Tensor) -> list[tuple[DType, TensorShape]]:
            count.shape.assert_has_rank(0)
            # The number of rows of `DequeueUpTo` is known only in a run.
            rows = constant_value(count) if kind == "DequeueMany" else None
            if rows is not None and rows < 0:
                raise ValueError(f"queue '{self.name}': n is {rows}, but it must be >= 0.")
            shapes = [TensorShape([rows]).concatenate(shape) for shape in self._shapes]
            return list(zip(self._types, shapes, strict=True))

        inputs = [Input("handle", self._queue_ref, resource), Input("n", n, int32)]
        name, attrs = name or f"{self._stem}_{kind}", self._dequeue_attrs()
        op = apply_op(f"Queue{kind}V2", inputs, infer, name=name, attrs=attrs)
        return self._outputs(op)

    def _dequeue_attrs(self) -> dict[str, Any]:
        return {"component_types": self._types, "timeout_ms": -1}

    def _add_enqueue(self, op_type: str, name: str, components: Sequence[Tensor]) -> Operation:
        types = [component.dtype.base_dtype for component in components]
        attrs = {"Tcomponents": types, "timeout_ms": -1}
        return self._add_op(op_type, name, inputs=components, attrs=attrs)

    def _outputs(self, op: Operation) -> Any:
        if self._names is not None:
            return dict(zip(self._names, op.outputs, strict=True))
        return op.outputs[0] if len(op.outputs) == 1 else op.outputs

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


def _strings(value: FileNames, dtype: DType) -> TensorLike:
    """Returns a component's value. Paths become strings if the component has strings."""
    return with_paths_as_strings(value) if dtype == string else cast("TensorLike", value)


def restored_queue(op: Operation) -> QueueBase:
    """Returns the queue that an operation represents.

    An operation imported from a message has no queue object yet, so one is created from the
    attributes, without names.

    Raises:
        ValueError: If the operation is not a queue.
    """
    if isinstance(op.owner, QueueBase):
        return op.owner
    if op.definition.role is Role.SELECTION:
        queues = [restored_queue(tensor.op) for tensor in op.inputs[1:]]
        return QueueBase(queues[0].dtypes, _shapes_of_all(queues), None, op.outputs[0])
    if op.definition.role is not Role.QUEUE:
        raise ValueError(f"Node '{op.name}' of type {op.type}: expected a queue.")
    dtypes, shapes = list(op.attrs["component_types"]), list(op.attrs.get("shapes", ()))
    if op.type == "PriorityQueueV2":
        dtypes = [int64, *dtypes]
        shapes = [TensorShape([]), *shapes]
    return QueueBase(dtypes, shapes if len(shapes) == len(dtypes) else None, None, op.outputs[0])


def _shapes_of_all(queues: Sequence[QueueBase]) -> list[TensorShape]:
    """Returns the most specific shapes that are compatible with all queues."""
    columns = zip(*[queue.shapes for queue in queues], strict=True)
    return [reduce(TensorShape.most_specific_compatible_shape, column) for column in columns]


def _select(index: TensorLike, queues: Sequence[QueueBase]) -> Tensor:
    """Adds an operation that represents one of several queues, and returns its output.

    A queue that is itself a selection is replaced by the queues that it was selected from.
    """
    refs: list[Tensor] = []
    positions: list[Any] = []
    with name_scope(None, "GatherV2", [queue.queue_ref for queue in queues]) as scope:
        for queue in queues:
            op = queue.queue_ref.op
            if op.definition.role is Role.SELECTION:
                positions.append(op.inputs[0] + len(refs))
                refs += op.inputs[1:]
            else:
                positions.append(len(refs))
                refs.append(queue.queue_ref)
        position = gather(positions, index)
        position.shape.assert_has_rank(0)
        graph = graph_of(refs)
        select = graph.create_op(
            "QueueSelect",
            [position, *refs],
            [resource],
            output_shapes=[TensorShape([])],
            name=scope,
        )
    return select.outputs[0]


define("QueueSelect", is_own=True, role=Role.SELECTION)
define("QueueCloseV2", is_stateful=True, queue_input=0, is_enqueue=True)
define("QueueDequeueManyV2", is_stateful=True, queue_input=0)
define("QueueDequeueUpToV2", is_stateful=True, queue_input=0)
define("QueueDequeueV2", is_stateful=True, queue_input=0)
define("QueueEnqueueManyV2", is_stateful=True, queue_input=0, is_enqueue=True)
define("QueueEnqueueV2", is_stateful=True, queue_input=0, is_enqueue=True)
define("QueueIsClosedV2", is_stateful=True)
define("QueueSizeV2", is_stateful=True)
