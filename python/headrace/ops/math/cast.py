"""Converts tensors from one type to another.

Source: `tf.cast` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import bracketed
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import type_attr
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import NUMBERS
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.framework.primitives import cast_tensor
from headrace.ops.sparse.tensor import SparseTensor

__all__ = [
    "bitcast",
    "cast",
]


def cast(x: TensorLike | SparseTensor, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Converts the elements of a tensor to another type.

    Floats are converted to integers by dropping the fraction. Numbers other than 0 become True.

    Args:
        x: A dense or sparse tensor, or a value that can be converted to one.
        dtype: The new type.
        name: Name of the operation.

    Returns:
        A tensor of the new type, or `x` itself if it already has this type. A sparse tensor stays
        sparse.

    Examples:
        >>> to_float = hr.native(lambda example: {"y": hr.ops.cast(example["x"], np.float32)})
        >>> to_float({"x": np.array([1, 2])})
        {'y': array([1., 2.], dtype=float32)}
    """
    requested_dtype = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype == requested_dtype:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            values = cast(x.values, requested_dtype, name=scope)
            return SparseTensor(x.indices, values, x.dense_shape)  # type: ignore[return-value]
        tensor = convert_to_tensor(x, name="x")
        if tensor.dtype.base_dtype == requested_dtype:
            return tensor
        return cast_tensor(tensor, requested_dtype, scope)


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Reinterprets the bytes of numbers as numbers of a different type.

    Args:
        input: A tensor of numbers.
        type: The new type.
        name: Name of the operation.

    Returns:
        A tensor of the new type. If the new type is smaller, a last axis is added for the numbers
        of each element. If it is larger, the last axis is removed.

    Raises:
        TypeError: If one of the types is not numeric.
        ValueError: If the last axis does not have the size that the new type requires.
    """
    dtype = type_attr("type", type, NUMBERS)
    size = dtype.size

    def infer(tensor: Tensor) -> Outputs:
        shape, old_size = tensor.shape, tensor.dtype.size
        if shape.rank is None or size == old_size:
            return [(dtype, shape)]
        if size < old_size:
            return [(dtype, shape.concatenate([old_size // size]))]
        if shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        if shape[-1].value not in (None, size // old_size):
            raise ShapeConflict(
                f"Cannot bitcast from {tensor.dtype.base_dtype.name} to {dtype.name} due to shape. "
                f"{shape[-1]} does not match {size // old_size}"
            )
        return [(dtype, shape[:-1])]

    def kernel(array: Array) -> Array:
        old_size = array.dtype.itemsize
        shape: tuple[int, ...] = array.shape
        if size < old_size:
            shape = (*shape, old_size // size)
        elif size > old_size:
            if not shape or shape[-1] != size // old_size:
                name = as_dtype(array.dtype).name
                fail(f"Cannot bitcast from {name} to {dtype.name}: shape {bracketed(shape)}")
            shape = shape[:-1]
        return np.frombuffer(array.tobytes(), dtype=dtype.as_numpy_dtype).reshape(shape)

    inputs = [Input("input", input, allowed=NUMBERS)]
    attrs = {"type": dtype}
    return apply_op("Bitcast", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


define("Bitcast")
