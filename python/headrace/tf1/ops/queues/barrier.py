"""Barriers, which collect the components of elements and release complete elements.

Source: `tensorflow.python.ops.data_flow_ops.Barrier` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.core.dtypes import DTypeLike, int32, int64, string
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Operation, Role, Tensor, TensorLike, define, get_default_graph
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value
from headrace.ops.framework.inference import ShapeConflict, merge_shapes
from headrace.tf1.ops.queues.arguments import Shapes, as_shapes, as_shared_name, as_types

__all__ = ["Barrier", "TakenFromBarrier"]

_SCALAR = TensorShape([])


class TakenFromBarrier(NamedTuple):
    """The result of `Barrier.take_many`.

    Attributes:
        indices: For each key, the number of the insertion that added it, an int64 vector. Numbers
            start at -2**63.
        keys: The keys, a string vector.
        values: One tensor per component, with one row per element.
    """

    indices: Tensor
    keys: Tensor
    values: list[Tensor]


class Barrier:
    """A buffer of keyed elements, whose components are inserted one by one in any order.

    You can take an element once all its components have been inserted. Elements are taken in the
    order in which their keys were first inserted.

    Args:
        types: The type of each component.
        shapes: The fully defined shape of each component. Defaults to scalars.
        shared_name: Barriers with the same name share their content in a session. By default, the
            barrier is not shared.
        name: Name of the operation.

    Raises:
        ValueError: If a shape is not fully defined or has no elements, or the numbers of shapes and
            types differ.
    """

    def __init__(
        self,
        types: DTypeLike | Sequence[DTypeLike],
        shapes: Shapes | None = None,
        shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:
        _, self._types = as_types(types)
        component_shapes = None if shapes is None else as_shapes(shapes, len(self._types))
        for index, shape in enumerate(component_shapes or []):
            if shape.num_elements() == 0:
                raise ValueError(
                    "Empty tensors are not supported, but received shape "
                    f"'{shape}' at index {index}"
                )
        self._shapes = (
            [unknown_shape() for _ in self._types] if component_shapes is None else component_shapes
        )
        op = get_default_graph().create_op(
            "Barrier",
            [],
            [string._as_ref],
            output_shapes=[TensorShape([2])],
            name=name,
            attrs={
                "component_types": self._types,
                "shapes": self._shapes,
                "capacity": -1,
                "container": "",
                "shared_name": as_shared_name(shared_name),
            },
        )
        self._ref = op.outputs[0]
        # The last part of the operation's name. The names of the other operations are derived from
        # it.
        self._stem = op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The tensor that represents the barrier."""
        return self._ref

    @property
    def name(self) -> str:
        """The name of the barrier's operation."""
        return self._ref.op.name

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Operation:
        """Adds an operation that inserts one component of the elements with the given keys.

        Args:
            component_index: The index of the component, starting at 0.
            keys: The keys, a vector of strings. A new key starts an element, and so does a key
                whose element is already complete.
            values: The components, one row per key.
            name: Name of the operation.

        Raises:
            CancelledError: When run, if the barrier is closed and a key is new.
            InvalidArgumentError: When run, if the component does not exist, an element already has
                this component, or its type or shape is wrong. Components before the failing one are
                inserted.
            TypeError: If `component_index` is not an integer, or `keys` are not strings.
            ValueError: If `keys` is not a vector, or the numbers of keys and values differ.
        """
        if not isinstance(component_index, int):
            raise TypeError(f"Expected int for argument 'component_index' not {component_index!r}.")

        def infer(_: Tensor, keys: Tensor, values: Tensor) -> Outputs:
            if keys.shape.rank not in (None, 1):
                raise ShapeConflict(f"Shape must be rank 1 but is rank {keys.shape.rank}")
            if values.shape.rank == 0:
                raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
            merge_shapes(keys.shape, values.shape[:1])
            return []

        inputs = [Input("keys", keys, string), Input("values", values)]
        attrs = {"component_index": component_index}
        return self._add("BarrierInsertMany", inputs, infer, name, attrs)

    def take_many(
        self,
        num_elements: TensorLike,
        allow_small_batch: bool = False,
        timeout: bool | None = None,
        name: str | None = None,
    ) -> TakenFromBarrier:
        """Adds an operation that waits for enough complete elements and takes them.

        Args:
            num_elements: The number of elements, a scalar int32.
            allow_small_batch: Whether to take fewer elements once the barrier is closed.
            timeout: Has no effect, as in TensorFlow. Only True and False are accepted.
            name: Name of the operation.

        Raises:
            OutOfRangeError: When run, if the barrier is closed and cannot provide enough elements.
                With `allow_small_batch`, only if it cannot provide any element.
            TypeError: If an argument has the wrong type.
        """
        if not isinstance(allow_small_batch, bool):
            raise TypeError(
                f"Expected bool for argument 'allow_small_batch' not {allow_small_batch!r}."
            )
        if not isinstance(timeout, bool | None):
            raise TypeError(f"Expected bool for argument 'wait_for_incomplete' not {timeout!r}.")

        def infer(_: Tensor, count: Tensor) -> Outputs:
            rows = None if allow_small_batch else constant_value(count)
            prefix = TensorShape([None if rows is None else int(rows)])
            values = [prefix.concatenate(shape) for shape in self._shapes]
            return [
                (int64, prefix),
                (string, prefix),
                *zip(self._types, values, strict=True),
            ]

        attrs = {
            "component_types": self._types,
            "allow_small_batch": allow_small_batch,
            "wait_for_incomplete": bool(timeout),
            "timeout_ms": -1,
        }
        inputs = [Input("num_elements", num_elements, int32)]
        indices, keys, *values = self._add("BarrierTakeMany", inputs, infer, name, attrs).outputs
        return TakenFromBarrier(indices, keys, values)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Adds an operation that closes the barrier, so that it rejects new keys.

        Args:
            cancel_pending_enqueues: Whether incomplete elements are dropped. If False, they can
                still be completed.
            name: Name of the operation.

        Raises:
            CancelledError: At run time, if the barrier is already closed, unless this call is the
                first to drop elements.
            TypeError: If `cancel_pending_enqueues` is not a bool.
        """
        if not isinstance(cancel_pending_enqueues, bool):
            raise TypeError(
                "Expected bool for argument 'cancel_pending_enqueues' not "
                f"{cancel_pending_enqueues!r}."
            )
        attrs = {"cancel_pending_enqueues": cancel_pending_enqueues}
        return self._add("BarrierClose", [], lambda _: [], name, attrs)

    def ready_size(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of complete elements as an int32 scalar."""
        op = self._add("BarrierReadySize", [], lambda _: [(int32, _SCALAR)], name)
        return op.outputs[0]

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of incomplete elements as an int32 scalar."""
        op = self._add("BarrierIncompleteSize", [], lambda _: [(int32, _SCALAR)], name)
        return op.outputs[0]

    def _add(
        self,
        op_type: str,
        inputs: Sequence[Input],
        infer: Any,
        name: str | None,
        attrs: dict[str, Any] | None = None,
    ) -> Operation:
        handle = Input("handle", self._ref, string)
        name = name or f"{self._stem}_{op_type}"
        return apply_op(op_type, [handle, *inputs], infer, name=name, attrs=attrs)


define("Barrier", role=Role.BARRIER)
define("BarrierClose", is_stateful=True)
define("BarrierIncompleteSize", is_stateful=True)
define("BarrierInsertMany", is_stateful=True)
define("BarrierReadySize", is_stateful=True)
define("BarrierTakeMany", is_stateful=True)
