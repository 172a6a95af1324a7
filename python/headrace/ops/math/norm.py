"""Tensor norms, and clipping to a norm.

Source: `tf.norm`, `tf.global_norm`, `tf.clip_by_norm` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import unknown_shape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.fill import ones_like
from headrace.ops.array.join import stack
from headrace.ops.array.placeholder import identity
from headrace.ops.array.range import range as range_of
from headrace.ops.array.reshape import expand_dims, squeeze
from headrace.ops.array.shape import rank, size
from headrace.ops.array.transpose import transpose
from headrace.ops.array.where import where
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.framework.elementwise import FLOATS
from headrace.ops.framework.kernel import Array
from headrace.ops.math.activations import l2_loss
from headrace.ops.math.arithmetic import abs as absolute
from headrace.ops.math.arithmetic import (
    maximum,
    minimum,
    multiply,
    pow,
    rsqrt,
    sqrt,
    truediv,
)
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import greater, is_finite
from headrace.ops.math.reduce import reduce_max, reduce_sum

__all__ = [
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "global_norm",
    "norm",
]


def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the norm of vectors or matrices.

    Args:
        tensor: A floating-point tensor of real numbers.
        ord: "euclidean" ("fro" for matrices), or the order: 1, 2 or infinity, and any number above
            0 for vectors.
        axis: The axis of the vectors, or the two axes of the matrices. By default, the whole tensor
            is one vector.
        keepdims: If True, reduced axes are kept with size 1.
        name: Name of the scope.

    Raises:
        ValueError: If `ord` or `axis` is invalid.
    """
    axes, is_matrix = _axes_of(axis)
    if is_matrix and ord not in ("euclidean", "fro", 1, 2, math.inf):
        supported = "['euclidean', 'fro', 1, 2, inf]"
        raise ValueError(f"'ord' must be a supported matrix norm in {supported}, got {ord}")
    if not is_matrix and (ord != "euclidean" if isinstance(ord, str) else not ord > 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    with name_scope(name, "norm", [tensor]):
        numbers = convert_to_tensor(tensor)
        if is_matrix and ord == 2:
            result = _largest_singular_value(numbers, axes or ())
        elif ord in ("fro", "euclidean", 2):
            result = sqrt(reduce_sum(multiply(numbers, numbers), axes, keepdims=True))
        else:
            result = _other_norm(absolute(numbers), ord, axes, is_matrix)
        return result if keepdims else squeeze(result, axes)


def clip_by_norm(
    t: TensorLike,
    clip_norm: TensorLike,
    axes: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Scales a tensor down wherever its Euclidean norm exceeds a limit.

    Args:
        t: A floating-point tensor.
        clip_norm: The maximum norm.
        axes: The axes of the norm. By default, one norm is computed over all axes.
        name: Name of the operation.

    Raises:
        ValueError: If the shapes of `t` and `clip_norm` are incompatible.
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        numbers = convert_to_tensor(t, name="t")
        squares = reduce_sum(multiply(numbers, numbers), axes, keepdims=True)
        is_positive = greater(squares, 0)
        length = where(is_positive, sqrt(where(is_positive, squares, ones_like(squares))), squares)
        scaled = multiply(numbers, clip_norm)
        numbers.shape.merge_with(scaled.shape)  # Rejects bounds that would enlarge `t`.
        return identity(truediv(scaled, maximum(length, clip_norm)), name=scope)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Scales a tensor down if its norm divided by its size exceeds a limit.

    Args:
        t: A floating-point tensor.
        clip_norm: The maximum average norm.
        name: Name of the operation.
    """
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        numbers = convert_to_tensor(t, name="t")
        count = cast(size(numbers), dtypes.float32)
        squares = reduce_sum(multiply(numbers, numbers), range_of(rank(numbers)))
        factor = minimum(multiply(rsqrt(squares), count), truediv(constant(1.0), clip_norm))
        return identity(multiply(multiply(numbers, clip_norm), factor), name=scope)


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """Returns the Euclidean norm of several tensors together.

    Args:
        t_list: The tensors, of the same floating-point type. None items are skipped.
        name: Name of the scope.

    Raises:
        TypeError: If `t_list` is not a sequence.
    """
    tensors = _sequence(t_list)
    with name_scope(name, "global_norm", tensors):
        halves = [
            l2_loss(convert_to_tensor(item, name=f"t_{index}"))
            for index, item in enumerate(tensors)
            if item is not None
        ]
        total = reduce_sum(stack(halves))
        return sqrt(multiply(total, constant(2.0, dtype=total.dtype)), name="global_norm")


def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Tensor | None], Tensor]:
    """Scales tensors down by a common factor if their global norm exceeds a limit.

    Args:
        t_list: The tensors, of the same floating-point type. None items stay None.
        clip_norm: The maximum norm.
        use_norm: The global norm, if you have already computed it.
        name: Name of the scope.

    Returns:
        The tensors, and the global norm before scaling. If the norm is not finite, all elements are
        NaN.

    Raises:
        TypeError: If `t_list` is not a sequence.
    """
    tensors = _sequence(t_list)
    length = convert_to_tensor(global_norm(tensors, name) if use_norm is None else use_norm)
    with name_scope(name, "clip_by_global_norm", [*tensors, clip_norm]) as scope:
        one = constant(1.0, dtype=length.dtype)
        inverse = minimum(truediv(one, length), truediv(one, clip_norm))
        factor = where(
            is_finite(length), multiply(inverse, clip_norm), constant(np.nan, dtype=length.dtype)
        )
        shorter = [
            None if item is None else identity(multiply(item, factor), name=f"{scope}_{index}")
            for index, item in enumerate(tensors)
        ]
    return shorter, length


def _axes_of(axis: int | Sequence[int] | None) -> tuple[list[int] | None, bool]:
    """Returns the axes, and whether they are matrix axes."""
    words = "'axis' must be None, an integer, or a tuple of 2 unique integers"
    if axis is None:
        return None, False
    if isinstance(axis, int):
        return [axis], False
    if not isinstance(axis, (list, tuple)) or len(axis) != 2:
        raise ValueError(f"{words}, got {axis}")
    if not all(isinstance(item, int) for item in axis) or axis[0] == axis[1]:
        raise ValueError(words)
    return list(axis), True


def _other_norm(sizes: Tensor, ord: Any, axes: list[int] | None, is_matrix: bool) -> Tensor:
    """Returns a non-Euclidean norm of absolute values. All axes are kept."""
    first, last = (None, None) if axes is None else (axes[0], axes[-1])
    if ord == 1:
        sums = reduce_sum(sizes, first, keepdims=True)
        return reduce_max(sums, last, keepdims=True) if is_matrix else sums
    if ord == math.inf:
        sums = reduce_sum(sizes, last, keepdims=True) if is_matrix else sizes
        return reduce_max(sums, first, keepdims=True)
    powers = reduce_sum(pow(sizes, ord), axes, keepdims=True)
    return pow(powers, 1.0 / ord)


def _largest_singular_value(numbers: Tensor, axes: Sequence[int]) -> Tensor:
    """Returns the largest singular value of matrices. All axes are kept."""
    ndims = numbers.shape.with_rank_at_least(2).rank
    if ndims is None:
        raise ValueError("norm: the tensor has unknown rank. Set its shape with set_shape.")
    dims = [axis % ndims for axis in axes]
    order = [axis for axis in range(ndims) if axis not in dims] + dims
    result = reduce_max(singular_values(transpose(numbers, order)), -1)
    for dim in sorted(dims):
        result = expand_dims(result, dim)
    return result


def singular_values(input: Tensor, name: str | None = None) -> Tensor:
    """Adds an operation that computes the singular values of matrices."""

    def infer(x: Tensor) -> Outputs:
        if x.shape.rank is None:
            return [(x.dtype.base_dtype, unknown_shape())]
        sizes = [x.shape[-2].value, x.shape[-1].value]
        least = None if None in sizes else min(size or 0 for size in sizes)
        return [(x.dtype.base_dtype, x.shape[:-2].concatenate([least]))]

    def kernel(x: Array) -> Any:
        return np.linalg.svd(x, compute_uv=False)

    attrs = {"compute_uv": False, "full_matrices": False}
    inputs = [Input("input", input, allowed=FLOATS)]
    return apply_op("Svd", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def _sequence(t_list: object) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, (str, bytes)):
        raise TypeError("t_list should be a sequence")
    return list(t_list)


define("Svd")
