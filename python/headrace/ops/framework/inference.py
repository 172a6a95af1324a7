"""Static shape rules that several operations share."""

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape, describe_conflict, unknown_shape
from headrace.graph import Tensor

__all__ = [
    "ShapeConflict",
    "broadcast_shapes",
    "check_axis",
    "check_rank",
    "like",
    "merge_shapes",
    "reduce_shape",
]


class ShapeConflict(ValueError):
    """An error for incompatible static shapes. `apply_op` adds the name of the operation."""


def broadcast_shapes(x: TensorShape, y: TensorShape) -> TensorShape:
    """Returns the shape of an elementwise operation on two tensors.

    Raises:
        ShapeConflict: If two sizes differ and neither is 1.
    """
    if x.rank is None or y.rank is None:
        return unknown_shape()
    rank = max(x.rank, y.rank)
    ones: list[int | None] = [1] * rank
    padded = [(ones + shape.as_list())[-rank:] if rank else [] for shape in (x, y)]
    return TensorShape([_broadcast_sizes(a, b) for a, b in zip(*padded, strict=True)])


def _broadcast_sizes(a: int | None, b: int | None) -> int | None:
    if b in (a, 1):
        return a
    if a == 1:
        return b
    if a is None or b is None:
        return b if a is None else a
    raise ShapeConflict(f"Dimensions must be equal, but are {a} and {b}")


def merge_shapes(x: TensorShape, y: TensorShape) -> TensorShape:
    """Merges two descriptions of one shape.

    Raises:
        ShapeConflict: If the descriptions contradict each other.
    """
    if not x.is_compatible_with(y):
        raise ShapeConflict(describe_conflict(x, y))
    return x.merge_with(y)


def check_rank(shape: TensorShape, rank: int) -> None:
    """Raises ShapeConflict if the rank is known to differ."""
    if shape.rank not in (None, rank):
        raise ShapeConflict(f"Shape must be rank {rank} but is rank {shape.rank}")


def check_axis(axis: int, rank: int, text: str) -> int:
    """Returns an axis number counted from the front.

    Args:
        axis: The axis number, which is negative if counted from the back.
        rank: The number of axes.
        text: The error message if the axis does not exist. It can contain `{axis}`, `{rank}` and
            `{low}`, the smallest valid axis.

    Raises:
        ShapeConflict: If an axis does not exist.
    """
    if not -rank <= axis < rank:
        raise ShapeConflict(text.format(axis=axis, rank=rank, low=-rank))
    return axis % rank


def reduce_shape(shape: TensorShape, axes: Sequence[int] | None, keepdims: bool) -> TensorShape:
    """Returns the shape after a reduction of some axes.

    Args:
        shape: The shape before the reduction.
        axes: The axes to reduce, or None if they are not known yet.
        keepdims: If True, reduced axes are kept with size 1.

    Raises:
        ShapeConflict: If an axis does not exist.
    """
    if shape.rank is None or axes is None:
        return unknown_shape(shape.rank if keepdims else None)
    text = "Invalid reduction dimension {axis} for input with {rank} dimensions."
    reduced = {check_axis(axis, shape.rank, text) for axis in axes}
    sizes: list[Any] = shape.as_list()
    if keepdims:
        return TensorShape([1 if axis in reduced else n for axis, n in enumerate(sizes)])
    return TensorShape([n for axis, n in enumerate(sizes) if axis not in reduced])


def like(tensor: Tensor) -> list[tuple[DType, TensorShape]]:
    """Infers one output with the dtype and shape of a tensor."""
    return [(tensor.dtype.base_dtype, tensor.shape)]
