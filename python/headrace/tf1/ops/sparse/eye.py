"""Sparse identity matrices.

Source: `tf.sparse.eye` in TensorFlow 1.15.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.graph import Tensor, name_scope
from headrace.ops.array.fill import ones
from headrace.ops.array.join import stack
from headrace.ops.array.range import range as range_of
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.arithmetic import minimum
from headrace.ops.math.cast import cast
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["sparse_eye"]


def sparse_eye(
    num_rows: int | np.integer[Any] | Tensor,
    num_columns: int | np.integer[Any] | Tensor | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> SparseTensor:
    """Returns a sparse matrix with ones on the diagonal.

    Args:
        num_rows: The number of rows, an integer scalar.
        num_columns: The number of columns. Defaults to `num_rows`.
        dtype: The type of the elements: numbers or bool.
        name: Name of the scope.

    Raises:
        TypeError: If a number of rows or columns is not an integer, or the type is string.
        ValueError: If a number is negative.
    """
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = _as_int64("num_rows", num_rows)
        columns = rows if num_columns is None else _as_int64("num_columns", num_columns)
        length = minimum(rows, columns)
        diagonal = range_of(length, dtype=dtypes.int64)
        return SparseTensor(
            stack([diagonal, diagonal], axis=1),
            ones(stack([length]), dtype=dtype),
            stack([rows, columns]),
        )


def _as_int64(what: str, value: object) -> Tensor:
    if isinstance(value, Integral):
        return convert_to_tensor(int(value), dtypes.int64, name=what)
    if not isinstance(value, Tensor):
        raise TypeError(f"{what} must be an integer value")
    return cast(value, dtypes.int64)
