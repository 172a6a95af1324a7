"""Identity matrices.

Source: `tf.eye` in TensorFlow 1.15.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import Dimension
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.broadcast import broadcast_to
from headrace.ops.array.join import concat, stack
from headrace.ops.array.range import range as range_of
from headrace.ops.array.reshape import expand_dims
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import equal

__all__ = ["eye"]


def eye(
    num_rows: int | np.integer[Any] | Dimension | Tensor,
    num_columns: int | np.integer[Any] | Dimension | Tensor | None = None,
    batch_shape: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Returns a matrix with ones on the diagonal and zeros elsewhere.

    Args:
        num_rows: The number of rows, an integer scalar.
        num_columns: The number of columns. Defaults to `num_rows`.
        batch_shape: The sizes of the leading axes along which the matrix is repeated. By default,
            there are none.
        dtype: The type of the elements: numbers or bool.
        name: Name of the scope.

    Raises:
        TypeError: If a size is not an integer, or the type is string.
        ValueError: If a size is negative or at least 2**63.
    """
    kind = as_dtype(dtype).base_dtype
    if kind == dtypes.string:
        raise TypeError("eye: dtype is string, expected a number type or bool.")
    columns = num_rows if num_columns is None else num_columns
    for number in (num_rows, columns):
        if not isinstance(number, Tensor) and not hasattr(number, "__index__"):
            raise TypeError(
                "num_rows and num_columns must be positive integer values. got "
                f"num_rows={num_rows!r}, num_columns={columns!r}"
            )
        if not isinstance(number, Tensor) and not 0 <= operator.index(number) < 2**63:
            raise ValueError(f"eye: Fill dimensions must be >= 0 and below 2**63, got {number}")
    with name_scope(name, "eye", [num_rows, columns, batch_shape]):
        positions = [range_of(number) for number in (num_rows, columns)]
        matrix = cast(equal(expand_dims(positions[0], 1), positions[1]), kind)
        if batch_shape is None:
            return matrix
        return broadcast_to(matrix, concat([batch_shape, stack([num_rows, columns])], 0))
