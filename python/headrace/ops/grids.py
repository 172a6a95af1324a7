"""Tensors whose elements depend on where they are.

Source: `tf.eye`, `tf.meshgrid` and `tf.sequence_mask` of TensorFlow 1.15.
"""

import operator
from typing import Any

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.graph import Tensor, name_scope
from headrace.ops.arithmetic import maximum, multiply
from headrace.ops.broadcasting import broadcast_to
from headrace.ops.casting import cast
from headrace.ops.comparison import equal, less
from headrace.ops.conversion import constant, convert_to_tensor
from headrace.ops.filling import ones
from headrace.ops.joining import concat, stack
from headrace.ops.measures import size
from headrace.ops.reductions import reduce_max
from headrace.ops.sequences import range as range_of
from headrace.ops.shaping import expand_dims, reshape

__all__ = ["eye", "meshgrid", "sequence_mask"]


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Returns a matrix with ones on the diagonal and zeros elsewhere.

    Args:
        num_rows: Number of rows, an integer scalar.
        num_columns: Number of columns; None for as many as rows.
        batch_shape: Axes in front, along which the matrix is repeated; None for none.
        dtype: Type of the elements: numbers or bool.
        name: Name of the scope.

    Raises:
        TypeError: If a number of rows or columns is no integer, or the type is string.
        ValueError: If one is negative.
    """
    kind = as_dtype(dtype).base_dtype
    if kind == dtypes.string:
        raise TypeError("eye: dtype is string, expected numbers or bool.")
    columns = num_rows if num_columns is None else num_columns
    for number in (num_rows, columns):
        if not isinstance(number, Tensor) and not hasattr(number, "__index__"):
            raise TypeError(
                "num_rows and num_columns must be positive integer values. got "
                f"num_rows={num_rows!r}, num_columns={columns!r}"
            )
        if not isinstance(number, Tensor) and operator.index(number) < 0:
            raise ValueError(f"eye: Fill dimensions must be >= 0, got {number}")
    with name_scope(name, "eye", [num_rows, columns, batch_shape]):
        places = [range_of(number) for number in (num_rows, columns)]
        matrix = cast(equal(expand_dims(places[0], 1), places[1]), kind)
        if batch_shape is None:
            return matrix
        return broadcast_to(matrix, concat([batch_shape, stack([num_rows, columns])], 0))


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Returns the coordinates of the points of a grid.

    Args:
        *args: The coordinates along each axis: vectors, or what is made one.
        indexing: "xy" where the first vector runs along the second axis of the grid and the second
            along the first, as in pictures; "ij" where each runs along its own axis.
        name: Name of the scope.

    Returns:
        For each vector a tensor with an axis for every vector.

    Raises:
        TypeError: If the types differ.
        ValueError: If `indexing` is something else.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        vectors = [reshape(value, [-1]) for value in args]
        axes = list(range(len(vectors)))
        if indexing == "xy" and len(vectors) > 1:
            axes[:2] = [1, 0]
        lengths = [size(vectors[axis]) for axis in axes]
        grid = []
        for vector, axis in zip(vectors, axes, strict=True):
            spread = reshape(vector, [-1 if place == axis else 1 for place in range(len(axes))])
            grid.append(multiply(spread, ones(stack(lengths), vectors[0].dtype)))
        return grid


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None
) -> Tensor:
    """Returns a mask that is true for the first places of each row.

    Args:
        lengths: How many places of each row, an integer tensor.
        maxlen: How long the rows are, a scalar; None for the largest of `lengths`.
        dtype: Type of the mask.
        name: Name of the scope.

    Returns:
        A tensor with one axis more than `lengths`.

    Raises:
        ValueError: If `maxlen` is no scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            longest = reduce_max(lengths)
            longest = maximum(constant(0, longest.dtype), longest)
        else:
            longest = convert_to_tensor(maxlen)
        if longest.shape.rank not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        places = range_of(constant(0, longest.dtype), longest, constant(1, longest.dtype))
        mask = less(places, cast(expand_dims(lengths, -1), longest.dtype))
        return cast(mask, as_dtype(dtype))
