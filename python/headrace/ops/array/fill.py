"""Tensors filled with one value.

Source: `tf.fill`, `tf.zeros`, `tf.ones` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from typing import SupportsIndex, cast

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import Dimension, ShapeLike, TensorShape, bracketed
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import elementwise
from headrace.ops.framework.conversion import constant, constant_value_as_shape, convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold, fold_by_kernel
from headrace.ops.framework.inference import ShapeConflict, check_rank, like
from headrace.ops.framework.kernel import Array, by_either, fail

__all__ = ["fill", "ones", "ones_like", "zeros", "zeros_like"]

# Tensors with fewer elements than this become constants. Larger tensors are filled in each run.
_SMALL = 1000


def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor filled with one value.

    Args:
        dims: The shape, an integer vector.
        value: A scalar.
        name: Name of the operation.

    Raises:
        ValueError: If `value` is not a scalar, or a size is negative.
    """
    inputs = [
        Input("dims", dims, var="index_type", allowed=INDEX_TYPES, default=dtypes.int32),
        Input("value", value),
    ]
    return apply_op("Fill", inputs, _infer_fill, name=name, kernel=_fill).outputs[0]


def zeros(shape: TensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns a tensor of zeros. Bools are False, and strings are empty.

    Args:
        shape: The shape: a list of ints, a `TensorShape` or an integer vector.
        dtype: The type of the elements.
        name: Name of the operation.

    Raises:
        ValueError: If the shape is only partly known.
    """
    kind = as_dtype(dtype).base_dtype
    return _filled(_zero_of(kind), shape, kind, name, "zeros")


def ones(shape: TensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns a tensor of ones. Bools are True.

    Args:
        shape: The shape: a list of ints, a `TensorShape` or an integer vector.
        dtype: The type of the elements.
        name: Name of the operation.

    Raises:
        ValueError: If the shape is only partly known.
    """
    kind = as_dtype(dtype).base_dtype
    return _filled(True if kind.is_bool else 1, shape, kind, name, "ones")


def zeros_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    optimize: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns zeros with the shape of a tensor.

    Args:
        tensor: The tensor.
        dtype: The type of the elements. Defaults to the type of `tensor`.
        optimize: If True, a known shape is stored in the graph as a constant.
        name: Name of the operation.
    """
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        kind = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype)
        if optimize and tensor.shape.is_fully_defined() and kind != dtypes.string:
            return zeros(tensor.shape, dtype=kind, name=scope)
        if kind != tensor.dtype.base_dtype:
            return zeros(shape_of(tensor), dtype=kind, name=scope)
        zero = _zero_of(kind)

        def kernel(x: Array) -> Array:
            return np.full(x.shape, b"" if zero == "" else zero, dtype=x.dtype)

        return apply_op("ZerosLike", [Input("x", tensor)], like, name=scope, kernel=kernel).outputs[
            0
        ]


def ones_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """Returns ones with the shape of a tensor.

    Args:
        tensor: The tensor.
        dtype: The type of the elements. Defaults to the type of `tensor`.
        name: Name of the operation.
    """
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        kind = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype)
        result = ones(shape_of(tensor), dtype=kind, name=scope)
        result.set_shape(tensor.shape)
        return result


def _zero_of(dtype: DType) -> str | bool | int:
    if dtype == dtypes.string:
        return ""
    return False if dtype.is_bool else 0


def _filled(
    value: str | bool | int, shape: TensorLike, dtype: DType, name: str | None, default_name: str
) -> Tensor:
    with name_scope(name, default_name, [shape]) as scope:
        if not isinstance(shape, Tensor):
            sizes = _small_shape(shape)
            if sizes is not None:
                return constant(value, shape=sizes, dtype=dtype, name=scope)
            try:
                shape = convert_to_tensor(TensorShape(cast("ShapeLike", shape)))
            except (TypeError, ValueError):
                shape = convert_to_tensor(shape, dtype=dtypes.int32)
        if shape.shape.rank == 0:
            shape = reshape(shape, [-1])
        return fill(shape, constant(value, dtype=dtype), name=scope)


def _small_shape(shape: TensorLike) -> list[int] | None:
    if isinstance(shape, TensorShape) and shape.is_fully_defined():
        shape = [size or 0 for size in shape.as_list()]
    if not isinstance(shape, (list, tuple)):
        return None
    if not all(isinstance(size, (int, np.integer, Dimension)) for size in shape):
        return None
    sizes = [-1 if size is None else int(size) for size in (_value_of(s) for s in shape)]
    return sizes if all(s >= 0 for s in sizes) and math.prod(sizes) < _SMALL else None


def _value_of(size: SupportsIndex) -> SupportsIndex | None:
    return size.value if isinstance(size, Dimension) else size


def _infer_fill(dims: Tensor, value: Tensor) -> Outputs:
    check_rank(dims.shape, 1)
    check_rank(value.shape, 0)
    static = fold(dims)
    if static is not None and (static < 0).any():
        raise ShapeConflict("Fill dimensions must be >= 0")
    return [(value.dtype.base_dtype, constant_value_as_shape(dims))]


def _fill(dims: Array, value: Array) -> Array:
    if dims.ndim != 1:
        fail(f"dims must represent a vector, got shape {bracketed(dims.shape)}")
    if value.ndim:
        fail(f"value must represent a scalar, got shape {bracketed(value.shape)}")
    for size in dims.tolist():
        if size < 0:
            fail(f"Dimension {size} must be >= 0")
    check_array(dims, value.dtype)
    return np.full(dims, value[()] if value.dtype != object else value.item(), dtype=value.dtype)


define("Fill", computed=by_either, fold=fold_by_kernel)
define("OnesLike")
define("ZerosLike", computed=by_either, batch_rule=elementwise)
