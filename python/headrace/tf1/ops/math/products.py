"""Vector products, and tensor products summed over some axes.

Source: `tf.cross` and `tf.tensordot` in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.errors import FailedPreconditionError
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.join import concat
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape
from headrace.ops.array.transpose import transpose
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value, convert_to_tensor
from headrace.ops.framework.elementwise import REALS
from headrace.ops.framework.inference import ShapeConflict, merge_shapes
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.matmul import matmul
from headrace.ops.math.reduce import reduce_prod

__all__ = ["cross", "tensordot"]


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Returns the cross product of vectors of length 3 along the last axis.

    Args:
        a: Real numbers.
        b: Numbers of the same shape and type.
        name: Name of the operation.

    Raises:
        ValueError: If the shapes differ, or the size of the last axis is not 3.
    """

    def infer(x: Tensor, y: Tensor) -> Outputs:
        for tensor in (x, y):
            if tensor.shape.rank == 0:
                raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        shape = merge_shapes(x.shape, y.shape)
        if shape.rank is not None and not shape[-1].is_compatible_with(3):
            raise ShapeConflict(f"Dimension must be 3 but is {shape[-1]}")
        return [(x.dtype.base_dtype, shape)]

    def kernel(x: Array, y: Array) -> Any:
        if x.shape != y.shape:
            fail(
                f"Both inputs must be of same shape: {bracketed(x.shape)} vs. {bracketed(y.shape)}"
            )
        if not x.ndim:
            fail("Input must be at least 1D")
        if x.shape[-1] != 3:
            text = "Cross-products are only defined for 3-element vectors."
            raise FailedPreconditionError(None, None, text)
        return np.cross(x, y)

    inputs = [Input("a", a, allowed=REALS), Input("b", b, allowed=REALS)]
    return apply_op("Cross", inputs, infer, name=name, kernel=kernel).outputs[0]


def tensordot(
    a: TensorLike, b: TensorLike, axes: int | TensorLike, name: str | None = None
) -> Tensor:
    """Returns the sum of products over the given axes of two tensors.

    Args:
        a: The first tensor, of a known rank.
        b: The second tensor, of the same type and a known rank.
        axes: How many of the last axes of `a` and the first axes of `b` to sum over, or a pair of
            axes, or a pair of lists of axes.
        name: Name of the scope.

    Returns:
        A tensor with the remaining axes of `a`, followed by the remaining axes of `b`.

    Raises:
        ValueError: If the axes do not match, or a rank is unknown.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        first = convert_to_tensor(a, name="a")
        second = convert_to_tensor(b, name="b", dtype_hint=first.dtype.base_dtype)
        dims = _summed_dims(first.shape, axes, second.shape)
        rows, free = _as_matrix(first, dims[0], is_last=True)
        columns, rest = _as_matrix(second, dims[1], is_last=False)
        product = matmul(rows, columns)
        product_shape = TensorShape([*free, *rest])
        if product_shape.is_fully_defined():
            return reshape(product, product_shape, name=scope)
        sizes = [
            shape(tensor)[axis]
            for tensor, summed in zip((first, second), dims, strict=True)
            for axis in range(tensor.shape.rank or 0)
            if axis not in summed
        ]
        result = reshape(product, concat([[size] for size in sizes], 0), name=scope)
        result.set_shape(product_shape)
        return result


def _summed_dims(a: TensorShape, axes: Any, b: TensorShape) -> tuple[list[int], list[int]]:
    """Returns the axes of both tensors over which the sum is taken."""
    if a.rank is None or b.rank is None:
        raise ValueError(
            "tensordot: the ranks of both tensors must be known. Set their shapes with set_shape."
        )
    if isinstance(axes, Tensor):
        value = constant_value(axes)
        if value is None:
            raise ValueError("tensordot: axes must be known when the graph is built.")
        axes = value.tolist()
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError(f"'axes' must be at least 0, not {axes}.")
        if axes > min(a.rank, b.rank):
            raise ValueError(
                f"'axes' must not be larger than the number of dimensions of tensor "
                f"{a if axes > a.rank else b}."
            )
        return list(range(a.rank - axes, a.rank)), list(range(axes))
    if len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    pair: list[list[Any]] = [
        [item] if isinstance(item, (int, np.integer)) else list(item) for item in axes
    ]
    if len(pair[0]) != len(pair[1]):
        raise ValueError(
            f"Different number of contraction axes 'a' and 'b', {len(pair[0])} != {len(pair[1])}."
        )
    positions = [_from_front(group, shape_) for group, shape_ in zip(pair, (a, b), strict=True)]
    return positions[0], positions[1]


def _from_front(axes: Sequence[int], shape: TensorShape) -> list[int]:
    rank = shape.rank or 0
    for axis in axes:
        if not -rank <= axis < rank:
            raise ValueError(f"tensordot: a tensor of shape {shape} has no axis {axis}.")
    return [int(axis) % rank for axis in axes]


def _as_matrix(tensor: Tensor, summed: list[int], is_last: bool) -> tuple[Tensor, list[int | None]]:
    """Returns a matrix whose last or first axis will be summed over, and the remaining sizes."""
    rank = tensor.shape.rank or 0
    free = [axis for axis in range(rank) if axis not in summed]
    order = free + summed if is_last else summed + free
    moved = tensor if order == list(range(rank)) else transpose(tensor, order)
    left = [tensor.shape[axis].value for axis in free]
    inner = [tensor.shape[axis].value for axis in summed]
    sizes: Any
    if None not in left and None not in inner:
        sizes = [math.prod(size or 0 for size in group) for group in (left, inner)]
    else:
        everything = shape(moved)
        middle = len(free) if is_last else len(summed)
        halves = [reduce_prod(everything[:middle]), reduce_prod(everything[middle:])]
        sizes = halves if is_last else halves[::-1]
    return reshape(moved, sizes if is_last else sizes[::-1]), left


define("Cross")
