"""Loop operations, which run a part of the graph repeatedly.

The body of a loop is built like any other part of the graph, but inside `Graph.in_loop`. The loop
operation reads the initial values of the loop variables, the tensors that are passed to iterations
row by row, and all outer tensors that the body uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import (
    KernelKind,
    Loop,
    Operation,
    Role,
    Tensor,
    define,
    get_default_graph,
    name_scope,
)
from headrace.ops.array.placeholder import identity
from headrace.ops.framework.conversion import convert_to_tensor

__all__ = ["Repetition", "as_results", "check_result", "is_within", "leave"]


class Repetition:
    """A loop that is being built.

    Args:
        scope: The name scope of the repeated operations, with a trailing "/". Defaults to a new
            scope.
    """

    def __init__(self, scope: str | None = None) -> None:
        self._graph = get_default_graph()
        if scope is None:
            with name_scope(None, "while") as new:
                scope = new
        self._scope = scope
        self._loop = Loop(scope[:-1], self._graph.current_loop)
        self._first: list[Tensor] = []
        self._sequences: list[Tensor] = []

    def carry(self, first: Tensor, shape: TensorShape, name: str = "Identity") -> Tensor:
        """Adds a value that each iteration passes to the next one. Returns its tensor in the loop.

        Args:
            first: The value in the first iteration.
            shape: The static shape of the value in all iterations.
            name: Name of the tensor that represents the value.
        """
        inside = self._variable(first, shape, name)
        self._first.append(first)
        self._loop.carried.append(inside)
        return inside

    def go_through(self, sequence: Tensor, name: str) -> Tensor:
        """Adds a tensor whose rows are passed to the iterations. Returns the row in the loop."""
        shape = sequence.shape
        row = unknown_shape() if shape.rank is None else TensorShape(shape.as_list()[1:])
        inside = self._variable(sequence, row, name)
        self._sequences.append(sequence)
        self._loop.rows.append(inside)
        return inside

    def _variable(self, outside: Tensor, shape: TensorShape, name: str) -> Tensor:
        with self._graph.in_loop(self._loop), name_scope(self._scope):
            op = self._graph.create_op(
                "LoopVariable", [], [outside.dtype.base_dtype], output_shapes=[shape], name=name
            )
        return op.outputs[0]

    def inside(self, function: Callable[[], Any]) -> Any:
        """Calls a function that adds the repeated operations, and returns its result."""
        with self._graph.in_loop(self._loop), name_scope(self._scope):
            return function()

    def make(
        self,
        op_type: str,
        condition: Tensor | None,
        results: Sequence[Tensor],
        shapes: Sequence[TensorShape],
        attrs: dict[str, Any],
    ) -> list[Tensor]:
        """Adds the operation that runs the loop.

        Args:
            op_type: "While" or "ForEach".
            condition: Whether there is another iteration.
            results: The next carried values, then the values to collect.
            shapes: The static shapes of the outputs.
            attrs: The attributes.

        Returns:
            The outputs of the operation: the last carried values, then the collected values,
            stacked.
        """
        loop = self._loop
        loop.condition, loop.results = condition, list(results)
        inside, captured, waited = _reached(loop)
        loop.captured = captured
        attrs = {**attrs, "is_pure": all(map(_is_pure, inside))}
        with self._graph.control_dependencies(waited), name_scope(self._scope):
            op = self._graph.create_op(
                op_type,
                [*self._first, *self._sequences, *captured],
                [tensor.dtype.base_dtype for tensor in results],
                output_shapes=list(shapes),
                name="LoopCond",
                attrs=attrs,
                repeats=loop,
            )
        return op.outputs

    def exits(self, outputs: Iterable[Tensor], first: int = 0) -> list[Tensor]:
        """Returns the tensors for the loop's outputs outside the loop, with TensorFlow's names.

        Args:
            outputs: The outputs.
            first: The position of the first output among all values that TensorFlow's loop carries.
        """
        names = (f"Exit_{number}" if number else "Exit" for number in count(first))
        with name_scope(self._scope):
            return [leave(tensor, name) for tensor, name in zip(outputs, names, strict=False)]


def leave(tensor: Tensor, name: str) -> Tensor:
    """Returns the tensor that represents a loop's output outside the loop."""
    op = get_default_graph().create_op(
        "Exit",
        [tensor],
        [tensor.dtype],
        output_shapes=[tensor.shape],
        name=name,
        attrs={"T": tensor.dtype},
    )
    return op.outputs[0]


def as_results(values: Iterable[Any]) -> list[Tensor]:
    """Returns the results of an iteration as tensors. Variables are read inside the iteration."""
    tensors = (convert_to_tensor(value) for value in values)
    return [
        identity(tensor) if tensor.op.definition.role.is_resource else tensor for tensor in tensors
    ]


def is_within(shape: TensorShape, bound: TensorShape) -> bool:
    """Returns whether a shape matches every known size of a bound."""
    if bound.rank is None:
        return True
    if shape.rank != bound.rank:
        return False
    pairs = zip(shape.as_list(), bound.as_list(), strict=True)
    return all(limit is None or size == limit for size, limit in pairs)


def check_result(first: Tensor, shape: TensorShape, result: Tensor) -> None:
    """Checks that an iteration's result has the type and shape that the next iteration needs."""
    types = [tensor.dtype.base_dtype.name for tensor in (first, result)]
    if types[0] != types[1]:
        raise TypeError(
            f"Input tensor '{first.name}' enters the loop with type {types[0]}, but has type "
            f"{types[1]} after one iteration."
        )
    if not is_within(result.shape, shape):
        raise ValueError(
            f"Input tensor '{first.name}' enters the loop with shape {first.shape}, but has shape "
            f"{result.shape} after one iteration. To allow the shape to vary across iterations, "
            "use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )


def _reached(loop: Loop) -> tuple[list[Operation], list[Tensor], list[Operation]]:
    """Returns a loop's operations, the outer tensors they read, and what they wait for."""
    inside: dict[Operation, None] = {}
    captured: dict[Tensor, None] = {}
    waited: dict[Operation, None] = {}
    stack = list(loop.needed)
    while stack:
        tensor = stack.pop()
        op = tensor.op
        if op.loop is not loop:
            captured[tensor] = None
            if op.definition.role is Role.SELECTION:
                stack.append(op.inputs[0])
            continue
        for member in _with_controls(op, loop, inside, waited):
            stack += member.inputs
            path = [] if member.branch is None else member.branch.path
            stack += [branch.predicate for branch in path]
    return list(inside), list(captured), list(waited)


def _with_controls(
    op: Operation, loop: Loop, inside: dict[Operation, None], waited: dict[Operation, None]
) -> list[Operation]:
    """Returns an operation in a loop and the operations it waits for there, except known ones."""
    ops_in_loop, stack = [], [op]
    while stack:
        member = stack.pop()
        if member.loop is not loop:
            waited[member] = None
        elif member not in inside:
            inside[member] = None
            ops_in_loop.append(member)
            stack += member.control_inputs
    return ops_in_loop


def _is_pure(op: Operation) -> bool:
    """Returns whether an operation computes its outputs natively and has no side effects."""
    definition = op.definition
    return (
        definition.role in (Role.COMPUTED, Role.CONSTANT, Role.MERGE)
        and not (definition.is_stateful or definition.is_random or definition.takes_variable)
        and definition.computed_by(op) in (KernelKind.BY_ENGINE, KernelKind.BY_EITHER)
        and definition.queue_input is None
        and all(t.dtype != dtypes.resource and not t.dtype._is_ref_dtype for t in op.inputs)
    )


define("While", role=Role.LOOP)
define("ForEach", role=Role.LOOP)
define("LoopVariable")
