"""Reversing and rolling a tensor along its axes.

Source: `tf.reverse` and `tf.roll` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import (
    along_axis,
)
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import ShapeConflict, check_axis, check_rank, merge_shapes
from headrace.ops.framework.kernel import Array, by_either, fail

__all__ = ["reverse", "roll"]


def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Reverses the order of elements along the given axes.

    Args:
        tensor: The tensor.
        axis: The axes, an integer vector.
        name: Name of the operation.

    Raises:
        ValueError: If an axis does not exist or is listed twice.
    """
    inputs = [
        Input("tensor", tensor),
        Input("axis", axis, var="Tidx", allowed=INDEX_TYPES, default=dtypes.int32),
    ]

    def infer(x: Tensor, axes: Tensor) -> Outputs:
        check_rank(axes.shape, 1)
        static = fold(axes)
        if static is not None and x.shape.rank is not None:
            _check_axes(static.tolist(), x.shape.rank)
        return [(x.dtype.base_dtype, x.shape)]

    def kernel(x: Array, axes: Array) -> Array:
        if axes.ndim != 1:
            fail(f"'dims' must be 1-dimension, not {axes.ndim}")
        try:
            _check_axes(axes.tolist(), x.ndim)
        except ShapeConflict as conflict:
            fail(str(conflict))
        return np.flip(x, tuple(axes.tolist()))

    return apply_op("ReverseV2", inputs, infer, name=name, kernel=kernel).outputs[0]


def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Shifts elements along axes. Elements that are shifted past one end reappear at the other.

    Args:
        input: The tensor, of rank 1 or more.
        shift: The distance towards larger indices, an integer scalar or vector.
        axis: The axis of each shift. If an axis is listed twice, both shifts are applied.
        name: Name of the operation.

    Returns:
        A tensor of the same shape.

    Raises:
        InvalidArgumentError: At run time, if an axis does not exist.
        ValueError: If `shift` and `axis` differ in shape, or `input` is a scalar.
    """
    inputs = [
        Input("input", input),
        Input("shift", shift, var="Tshift", allowed=INDEX_TYPES),
        Input("axis", axis, var="Taxis", allowed=INDEX_TYPES),
    ]

    def infer(x: Tensor, by: Tensor, along: Tensor) -> Outputs:
        if x.shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        merge_shapes(by.shape, along.shape)
        return [(x.dtype.base_dtype, x.shape)]

    def kernel(x: Array, by: Array, along: Array) -> Array:
        if x.ndim == 0:
            fail("input must be 1-D or higher")
        if by.shape != along.shape:
            fail("shift and axis must have the same size")
        for dim in along.ravel().tolist():
            if not -x.ndim <= dim < x.ndim:
                fail(f"axis {dim} is out of range")
        return np.roll(x, by.ravel().tolist(), along.ravel().tolist())

    return apply_op("Roll", inputs, infer, name=name, kernel=kernel).outputs[0]


def _check_axes(axes: list[int], rank: int) -> None:
    seen = set()
    for index, axis in enumerate(axes):
        text = f"'axis'[{index}] = {axis} is out of valid range [0, {rank - 1}"
        front = check_axis(axis, rank, text)
        if front in seen:
            raise ShapeConflict(f"axis {front} specified more than once.")
        seen.add(front)


define("ReverseV2", computed=by_either, batch_rule=along_axis)
define("Roll", computed=by_either, batch_rule=along_axis)
