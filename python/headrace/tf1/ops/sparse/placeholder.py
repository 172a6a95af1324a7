"""Placeholders for sparse tensors.

Source: `tf.sparse_placeholder` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import ShapeLike, as_shape
from headrace.graph import Tensor
from headrace.ops.array.placeholder import placeholder
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["sparse_placeholder"]


def sparse_placeholder(
    dtype: DTypeLike, shape: ShapeLike | Tensor = None, name: str | None = None
) -> SparseTensor:
    """Creates a sparse tensor whose value must be fed in each run.

    Args:
        dtype: The type of the elements.
        shape: The shape of the tensor, or an integer vector that contains the shape. By default,
            any shape is allowed.
        name: The prefix for the names of the parts: `name/values`, `name/indices` and `name/shape`.
    """

    def part(suffix: str) -> str | None:
        return None if name is None else f"{name}/{suffix}"

    dense_shape = _shape_part(shape, part("shape"))
    rank = dense_shape.shape[0].value
    values = placeholder(dtype, shape=[None], name=part("values"))
    indices = placeholder(dtypes.int64, shape=[None, rank], name=part("indices"))
    return SparseTensor(indices, values, dense_shape)


def _shape_part(shape: ShapeLike | Tensor, name: str | None) -> Tensor:
    if isinstance(shape, Tensor):
        return convert_to_tensor(shape, dtype=dtypes.int64, name=name)
    static = as_shape(shape)
    if not static.is_fully_defined():
        return placeholder(dtypes.int64, shape=[static.rank], name=name)
    return convert_to_tensor(static, dtype=dtypes.int64, name=name)
