"""The order of execution: grouping, waiting and asserting.

Source: `tf.group`, `tf.tuple` and `tf.Assert` in TensorFlow 1.15.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from headrace.core import dtypes
from headrace.core.shapes import bracketed
from headrace.graph import (
    Operation,
    SupportsTensor,
    Tensor,
    TensorLike,
    as_control_input,
    control_dependencies,
    define,
    get_default_graph,
    graph_of,
    name_scope,
)
from headrace.ops.array.placeholder import identity
from headrace.ops.framework.arguments import Input, InputList, apply_op
from headrace.ops.framework.conversion import convert_n_to_tensor, convert_to_tensor, is_tensor
from headrace.ops.framework.excerpt import write_excerpt
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.sparse.tensor import SparseTensor

__all__ = [
    "Assert",
    "control_dependencies",
    "group",
    "no_op",
    "tuple",
    "with_dependencies",
]


# Objects that operations can wait for.
Dependency: TypeAlias = Operation | Tensor | SupportsTensor
# One or more of these objects, nested arbitrarily.
Dependencies: TypeAlias = (
    "Dependency | SparseTensor | Sequence[Dependencies] | Mapping[Any, Dependencies]"
)


def no_op(name: str | None = None) -> Operation:
    """Adds an operation that does nothing, which is useful to wait for other operations."""
    return get_default_graph().create_op("NoOp", [], [], name=name)


def group(*inputs: Dependencies, name: str | None = None) -> Operation:
    """Adds an operation that waits for several others.

    Args:
        *inputs: Operations, tensors, or nested lists of these.
        name: Name of the operation.

    Raises:
        TypeError: If an input is something else.
    """
    items = _flatten(inputs)
    with name_scope(name, "group_deps", items) as scope:
        if not items:
            return no_op(name=scope)
        with graph_of(items).control_dependencies([_op_of(item) for item in items]):
            return no_op(name=scope)


def with_dependencies(
    dependencies: Sequence[Dependency], output_tensor: TensorLike, name: str | None = None
) -> Tensor:
    """Returns a tensor with the same value that waits for the given operations.

    Args:
        dependencies: The operations or tensors to wait for.
        output_tensor: The tensor.
        name: Name of the operation.
    """
    values = [*dependencies, output_tensor]
    with (
        name_scope(name, "control_dependency", values) as scope,
        control_dependencies(dependencies),
    ):
        return identity(convert_to_tensor(output_tensor), name=scope)


def tuple(
    tensors: Sequence[TensorLike | Operation | None],
    control_inputs: Iterable[Dependency] | None = None,
    name: str | None = None,
) -> list[Any]:
    """Returns tensors with the same values that wait until all of `tensors` are computed.

    Args:
        tensors: A list of tensors, operations and None.
        control_inputs: More operations to wait for.
        name: Name of the scope.

    Returns:
        A list with the structure of `tensors`.

    Raises:
        ValueError: If `tensors` contains no tensor or operation.
        TypeError: If a control input is neither a tensor nor an operation.
    """
    with name_scope(name, "tuple", tensors):
        items = [
            item if item is None or isinstance(item, Operation) else convert_to_tensor(item)
            for item in tensors
        ]
        gating = [_op_of(item) for item in items if item is not None]
        for item in control_inputs or ():
            if not (isinstance(item, Operation) or is_tensor(item)):
                raise TypeError(f"Control input must be Operation or Tensor: {item}")
            gating.append(_op_of(item))
        if not gating:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*sorted(set(gating), key=lambda op: op._id))
        return [_gated(gate, item) for item in items]


def Assert(
    condition: TensorLike,
    data: Sequence[TensorLike],
    summarize: int | None = None,
    name: str | None = None,
) -> Operation:
    """Adds an operation that fails if a condition is false.

    Args:
        condition: A bool scalar.
        data: The tensors to show if the condition is false, a list of at least one tensor.
        summarize: The number of elements of each tensor to show. Defaults to 3.
        name: Name of the scope.

    Returns:
        The operation. Run it, or make other operations wait for it.

    Raises:
        InvalidArgumentError: At run time, if the condition is false.
        TypeError: If `data` is not a list.
        ValueError: If `data` is empty.
    """
    if not isinstance(data, (list, builtins.tuple)):
        raise TypeError(f"Expected list for 'data' argument to 'Assert' Op, not {data}.")
    if not data:
        raise ValueError(
            "Attr 'T' of 'Assert' Op passed list of length 0 less than minimum 1. Pass at "
            "least one tensor."
        )
    shown = 3 if summarize is None else summarize
    with name_scope(name, "Assert", [condition, data]):
        # TensorFlow converts these twice. Seeds depend on the number of operations, so this does,
        # too.
        convert_n_to_tensor(data)
        return check(condition, data, shown, name="Assert")


def check(
    condition: TensorLike, data: Sequence[TensorLike], summarize: int = 3, name: str | None = None
) -> Operation:
    """Adds the `Assert` operation without its surrounding scope."""
    inputs: list[Input | InputList] = [
        Input("condition", condition, dtypes.bool),
        InputList("data", data, is_mixed=True),
    ]

    def kernel(is_true: Array, *values: Array) -> None:
        if is_true.ndim:
            fail(f"In[0] should be a scalar: {bracketed(is_true.shape)}")
        if not is_true:
            words = " ".join(f"[{write_excerpt(value, summarize)}]" for value in values)
            fail(f"assertion failed: {words}")

    attrs = {"summarize": summarize}
    return apply_op("Assert", inputs, lambda *_: [], name=name, attrs=attrs, kernel=kernel)


def _flatten(items: Iterable[object]) -> list[Any]:
    """Collects the operations and tensors from nested lists.

    Raises:
        TypeError: If a list contains something else.
    """
    leaves: list[Any] = []
    for item in map(as_control_input, items):
        if isinstance(item, Operation) or is_tensor(item):
            leaves.append(item)
        elif isinstance(item, (list, builtins.tuple)):
            leaves += _flatten(item)
        elif isinstance(item, dict):
            leaves += _flatten([item[key] for key in sorted(item)])
        elif isinstance(item, SparseTensor):
            leaves += [item.indices, item.values, item.dense_shape]
        else:
            raise TypeError(
                f"Expected tf.Tensor, tf.Operation or a nested structure of them, got {item!r}"
            )
    return leaves


def _op_of(item: Any) -> Operation:
    op: Operation = item if isinstance(item, Operation) else item.op
    return op


def _gated(gate: Operation, item: Operation | Tensor | None) -> Operation | Tensor | None:
    if item is None:
        return None
    if isinstance(item, Operation):
        with control_dependencies([gate]):
            return group(item)
    return with_dependencies([gate], item)


define("Assert")
define("NoOp")
