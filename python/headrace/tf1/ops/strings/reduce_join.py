"""Joins the strings of a tensor along its axes.

Source: `tf.reduce_join` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import OutOfRangeError
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.range import range as range_of
from headrace.ops.array.shape import rank
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import (
    reduce_shape,
)
from headrace.ops.framework.kernel import Array, fail, string_array

__all__ = ["reduce_join"]


def reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Joins strings along axes.

    Args:
        inputs: The strings.
        axis: The axis or axes. Strings are joined along the first axis first, then along the
            second, and so on. Defaults to all axes, from the last to the first.
        keepdims: If True, joined axes are kept with size 1.
        separator: The string between two joined strings.
        name: Name of the operation.

    Raises:
        ValueError: If the axis does not exist.
    """
    keep = bool(keepdims)
    with name_scope(name, "ReduceJoin", [inputs]) as scope:
        strings = convert_to_tensor(inputs)
        axes = range_of(rank(strings) - 1, -1, -1) if axis is None else axis

        def infer(texts: Tensor, dims: Tensor) -> Outputs:
            static = fold(dims)
            ranks = None if static is None else [int(dim) for dim in static.ravel()]
            return [(dtypes.string, reduce_shape(texts.shape, ranks, keep))]

        def kernel(texts: Array, dims: Array) -> Array:
            return _join(texts, dims, separator.encode(), keep)

        op_inputs = [
            Input("inputs", strings, dtypes.string),
            Input("reduction_indices", axes, dtypes.int32),
        ]
        attrs = {"keep_dims": keep, "separator": separator}
        op = apply_op("ReduceJoin", op_inputs, infer, name=scope, attrs=attrs, kernel=kernel)
        return op.outputs[0]


def _join(texts: Array, dims: Array, separator: bytes, keep: bool) -> Array:
    axes: list[int] = []
    for axis in dims.ravel().tolist():
        if not -texts.ndim <= axis < texts.ndim:
            text = f"Invalid reduction dimension {axis} for input with {texts.ndim} dimension(s)"
            raise OutOfRangeError(None, None, text)
        if axis % texts.ndim in axes:
            fail(f"Duplicate reduction dimension {axis}")
        axes.append(axis % texts.ndim)
    kept = [axis for axis in range(texts.ndim) if axis not in axes]
    shape = [1 if axis in axes else size for axis, size in enumerate(texts.shape)]
    if not keep:
        shape = [texts.shape[axis] for axis in kept]
    count = int(np.prod([texts.shape[axis] for axis in kept], dtype=np.int64))
    rows = (
        np.transpose(texts, [*kept, *axes[::-1]]).reshape(count, -1) if texts.size else [()] * count
    )
    return string_array([separator.join(row) for row in rows], shape)


define("ReduceJoin")
