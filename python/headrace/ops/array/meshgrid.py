"""Coordinate grids.

Source: `tf.meshgrid` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.fill import ones
from headrace.ops.array.join import stack
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import size
from headrace.ops.math.arithmetic import multiply

__all__ = ["meshgrid"]


def meshgrid(*args: TensorLike, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Returns the coordinates of the points of a grid.

    Args:
        *args: The coordinates along each axis, as vectors. Other shapes are flattened.
        indexing: "ij" if each vector runs along its own axis of the grid. "xy" if the first vector
            runs along the second axis and the second along the first, as in images.
        name: Name of the scope.

    Returns:
        One tensor per vector, each with one axis per vector.

    Raises:
        TypeError: If the types differ.
        ValueError: If `indexing` is neither "xy" nor "ij".
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
            spread = reshape(vector, [-1 if index == axis else 1 for index in range(len(axes))])
            grid.append(multiply(spread, ones(stack(lengths), vectors[0].dtype)))
        return grid
