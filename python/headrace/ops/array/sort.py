"""Sorting, and searching in sorted rows.

Source: `tf.sort`, `tf.argsort` and `tf.searchsorted` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape
from headrace.ops.array.transpose import order_with_last, transpose
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import type_attr
from headrace.ops.framework.conversion import constant_value, convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.arithmetic import negative, subtract
from headrace.ops.math.top_k import TopKV2, top_k

__all__ = ["argsort", "searchsorted", "sort"]

_DIRECTIONS = ("ASCENDING", "DESCENDING")


def sort(
    values: TensorLike,
    axis: TensorLike = -1,
    direction: str = "ASCENDING",
    name: str | None = None,
) -> Tensor:
    """Sorts the elements along an axis.

    Args:
        values: Real numbers, of rank 1 or more.
        axis: The axis, which must be known when the graph is built.
        direction: "ASCENDING" or "DESCENDING".
        name: Name of the scope.

    Raises:
        ValueError: If the direction is invalid, or the axis is not known.
    """
    with name_scope(name, "sort", [values]):
        return _sorted(values, axis, direction, is_indices=False)


def argsort(
    values: TensorLike,
    axis: TensorLike = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the int32 indices that sort a tensor along an axis.

    Args:
        values: Real numbers, of rank 1 or more.
        axis: The axis, which must be known when the graph is built.
        direction: "ASCENDING" or "DESCENDING".
        stable: Has no effect, because equal elements always keep their order.
        name: Name of the scope.

    Raises:
        ValueError: If the direction is invalid, or the axis is not known.
    """
    with name_scope(name, "argsort", [values]):
        return _sorted(values, axis, direction, is_indices=True)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: Literal["left", "right"] = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Returns the indices at which values would be inserted into sorted rows.

    Args:
        sorted_sequence: The rows, along the last axis.
        values: The values to insert into each row, of the same type.
        side: "left" for the first position that keeps the row sorted, "right" for the last one.
        out_type: int32 or int64.
        name: Name of the operation.

    Returns:
        A position for each value.

    Raises:
        ValueError: If `side` is neither "left" nor "right".
    """
    rows = convert_to_tensor(sorted_sequence, name="sorted_sequence")
    sought = convert_to_tensor(values, name="values")
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    kind = type_attr("out_type", out_type, INDEX_TYPES)
    flat_rows = reshape(rows, [-1, shape(rows)[-1]])
    flat_values = reshape(sought, [-1, shape(sought)[-1]])
    op_type = "LowerBound" if side == "left" else "UpperBound"
    return reshape(bound(op_type, flat_rows, flat_values, kind, name), shape(sought))


def bound(
    op_type: str,
    sorted_inputs: Tensor,
    values: Tensor,
    out_type: DType = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Adds the "LowerBound" or "UpperBound" operation of `searchsorted`, for matrices."""

    def infer(_sorted: Tensor, sought: Tensor) -> Outputs:
        check_rank(sought.shape, 2)
        return [(out_type, sought.shape)]

    def kernel(table: Array, sought: Array) -> Any:
        if len(table) != len(sought):
            fail("Leading dim_size of both tensors must match.")
        side: Any = "left" if op_type == "LowerBound" else "right"
        positions = [np.searchsorted(a, b, side) for a, b in zip(table, sought, strict=True)]
        return np.array(positions, dtype=np.int64).reshape(sought.shape)

    inputs = [Input("sorted_inputs", sorted_inputs), Input("values", values)]
    attrs = {"out_type": out_type}
    return apply_op(op_type, inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def _sorted(values: TensorLike, axis: TensorLike, direction: str, is_indices: bool) -> Tensor:
    if direction not in _DIRECTIONS:
        raise ValueError(f"Direction should be one of {', '.join(_DIRECTIONS)}, not {direction}.")
    dim = axis if isinstance(axis, int) else constant_value(convert_to_tensor(axis))
    if dim is None:
        raise ValueError("axis must be a constant scalar")
    tensor = convert_to_tensor(values, name="values")
    is_ascending = direction == "ASCENDING"
    top = _largest_first(_turned(tensor) if is_ascending else tensor, int(dim), is_indices)
    return top if is_indices or not is_ascending else _turned(top)


def _turned(tensor: Tensor) -> Tensor:
    """Returns numbers that sort in the reverse order of the argument's."""
    dtype = tensor.dtype.base_dtype
    if dtype.is_unsigned:
        return subtract(np.array(dtype.max, dtype.as_numpy_dtype), tensor)
    if dtype.is_integer:  # The smallest integer cannot be negated.
        return subtract(np.array(-1, dtype.as_numpy_dtype), tensor)
    return negative(tensor)


def _largest_first(tensor: Tensor, axis: int, is_indices: bool) -> Tensor:
    ndims = tensor.shape.rank
    if ndims is not None and not -ndims <= axis < ndims:
        raise ShapeConflict(f"axis {axis} is not in [{-ndims}, {ndims}) of {tensor}")
    length = shape(tensor)[axis]
    if axis in (-1, None if ndims is None else ndims - 1):
        return _chosen(top_k(tensor, length), is_indices)
    order = order_with_last(tensor, axis)
    return transpose(_chosen(top_k(transpose(tensor, order), length), is_indices), order)


def _chosen(top: TopKV2, is_indices: bool) -> Tensor:
    return top.indices if is_indices else top.values


define("LowerBound")
define("UpperBound")
