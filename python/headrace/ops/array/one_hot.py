"""One-hot encoding of class numbers.

Source: `tf.one_hot` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import TensorShape, bracketed, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import BlockInput, made_again, moved_axis
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold_scalar
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import Array, by_either, fail

__all__ = ["one_hot"]


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns one-hot vectors along a new axis: `on_value` at the index and `off_value` elsewhere.

    Args:
        indices: The positions of `on_value`. If an index is outside [0, depth), its vector contains
            only `off_value`.
        depth: The size of the new axis.
        on_value: The value at the index. Defaults to 1.
        off_value: The value elsewhere. Defaults to 0.
        axis: The position of the new axis. Defaults to the last.
        dtype: The type of the result. Defaults to the type of the values, or to float32.
        name: Name of the operation.

    Raises:
        TypeError: If the types of the values do not match.

    Examples:
        >>> encode = hr.native(lambda example: {"y": hr.ops.one_hot(example["label"], 4)})
        >>> encode({"label": np.int64(2)})
        {'y': array([0., 0., 1., 0.], dtype=float32)}
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        on = None if on_value is None else convert_to_tensor(on_value)
        off = None if off_value is None else convert_to_tensor(off_value)
        requested_dtype = None if dtype is None else dtypes.as_dtype(dtype)
        for tensor, what in ((on, "on_value"), (off, "off_value")):
            if tensor is not None and requested_dtype not in (None, tensor.dtype.base_dtype):
                raise TypeError(
                    f"dtype {tensor.dtype} of {what} does not match dtype parameter "
                    f"{requested_dtype}"
                )
        fallback = on if on is not None else off
        kind = requested_dtype or (
            dtypes.float32 if fallback is None else fallback.dtype.base_dtype
        )
        on = convert_to_tensor(1, kind, name="on_value") if on is None else on
        off = convert_to_tensor(0, kind, name="off_value") if off is None else off
        if on.dtype.base_dtype != off.dtype.base_dtype:
            raise TypeError(
                f"dtype {on.dtype.base_dtype} of on_value does not match dtype "
                f"{off.dtype.base_dtype} of off_value"
            )
        dim = -1 if axis is None else axis
        inputs = [
            Input("indices", indices, var="TI", allowed=(dtypes.uint8, *INDEX_TYPES)),
            Input("depth", depth, dtypes.int32),
            Input("on_value", on),
            Input("off_value", off),
        ]

        def infer(positions: Tensor, size: Tensor, value: Tensor, _: Tensor) -> Outputs:
            return [(value.dtype.base_dtype, _infer_one_hot(positions.shape, size, dim))]

        def kernel(positions: Array, size: Array, hot: Array, cold: Array) -> Array:
            if dim > positions.ndim:
                fail(
                    f"Expected axis to be -1 or between [0, {positions.ndim + 1}).  But received: "
                    f"{dim}"
                )
            for value, what in ((size, "depth"), (hot, "on_value"), (cold, "off_value")):
                if value.ndim:
                    fail(f"{what} must be a scalar, but got: {bracketed(value.shape)}")
            if size < 0:
                fail(f"depth must be non-negative, got: {size}")
            front = dim if dim >= 0 else positions.ndim
            check_array([*positions.shape, int(size)], hot.dtype)
            check_array([int(size)], np.int64)
            steps = np.arange(int(size)).reshape((-1,) + (1,) * (positions.ndim - front))
            return np.where(np.expand_dims(positions, front) == steps, hot, cold)

        attrs = {"axis": dim}
        op = apply_op("OneHot", inputs, infer, name=scope, attrs=attrs, kernel=kernel)
        return op.outputs[0]


def _infer_one_hot(shape: TensorShape, depth: Tensor, axis: int) -> TensorShape:
    if axis < -1:
        raise ShapeConflict("axis must be >= -1")
    if depth.shape.rank not in (None, 0):
        raise ShapeConflict(f"Input must be scalar but has rank {depth.shape.rank}")
    size = fold_scalar(depth)
    if size is not None and size < 0:
        raise ShapeConflict(
            f"Dimension size, given by scalar input 1, must be non-negative but is {size}"
        )
    if shape.rank is None:
        return unknown_shape()
    dim = axis % (shape.rank + 1)  # An axis that is too large fails in the run.
    return shape[:dim].concatenate([size]).concatenate(shape[dim:])


def _one_hot_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    if any(item.is_batched for item in inputs[1:]):
        return None
    return made_again(op, [item.block for item in inputs], {"axis": moved_axis(op.attrs["axis"])})


define("OneHot", computed=by_either, batch_rule=_one_hot_blocks)
