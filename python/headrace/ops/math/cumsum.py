"""Cumulative sums and products.

Source: `tf.cumsum` and `tf.cumprod` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import bracketed
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import along_axis
from headrace.ops.framework.elementwise import INDEX_TYPES, NUMBERS, reals_by_either
from headrace.ops.framework.kernel import Array, fail

__all__ = ["cumprod", "cumsum"]


def cumsum(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the cumulative sum along an axis.

    Args:
        x: The tensor.
        axis: The axis, a scalar.
        exclusive: If True, each sum excludes the element at its own position.
        reverse: If True, starts at the end.
        name: Name of the operation.

    Returns:
        A tensor of the same type and shape.

    Raises:
        InvalidArgumentError: At run time, if the axis does not exist.

    Examples:
        >>> total = hr.native(lambda example: {"y": hr.ops.cumsum(example["x"])})
        >>> total({"x": np.array([1, 2, 3])})
        {'y': array([1, 3, 6])}
    """
    with name_scope(name, "Cumsum", [x]) as scope:
        return _accumulate("Cumsum", np.cumsum, x, axis, exclusive, reverse, scope)


def cumprod(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the cumulative product along an axis.

    Args:
        x: The tensor.
        axis: The axis, a scalar.
        exclusive: If True, each product excludes the element at its own position.
        reverse: If True, starts at the end.
        name: Name of the operation.

    Returns:
        A tensor of the same type and shape.

    Raises:
        InvalidArgumentError: At run time, if the axis does not exist.
    """
    with name_scope(name, "Cumprod", [x]) as scope:
        return _accumulate("Cumprod", np.cumprod, x, axis, exclusive, reverse, scope)


def _accumulate(
    op_type: str,
    function: Callable[..., Array],
    x: TensorLike,
    axis: TensorLike,
    exclusive: bool,
    reverse: bool,
    name: str,
) -> Tensor:
    first = 0 if op_type == "Cumsum" else 1

    def infer(tensor: Tensor, _: Tensor) -> Outputs:
        return [(tensor.dtype.base_dtype, tensor.shape)]

    def kernel(array: Array, dim: Array) -> Array:
        where = _check_axis(dim, array.ndim)
        ordered = np.flip(array, where) if reverse else array
        sums = function(ordered, axis=where, dtype=array.dtype)
        if exclusive:
            sums = np.roll(sums, 1, where)
            sums[(slice(None),) * where + (slice(1),)] = first
        return np.flip(sums, where) if reverse else sums

    inputs = [
        Input("x", x, allowed=NUMBERS),
        Input("axis", axis, var="Tidx", allowed=INDEX_TYPES, default=dtypes.int32),
    ]
    attrs = {"exclusive": exclusive, "reverse": reverse}
    return apply_op(op_type, inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def _check_axis(dim: Array, rank: int) -> int:
    if dim.ndim:
        fail(f"ScanOp: axis must be a scalar, not {bracketed(dim.shape)}")
    axis = int(dim)
    axis = axis + rank if axis < 0 else axis
    if not 0 <= axis < rank:
        fail(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {axis}")
    return axis


define("Cumprod", computed=reals_by_either, batch_rule=along_axis)
define("Cumsum", computed=reals_by_either, batch_rule=along_axis)
