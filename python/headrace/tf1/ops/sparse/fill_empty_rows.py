"""Fills empty rows of sparse tensors with a default element.

Source: `tf.sparse_fill_empty_rows` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_fill_empty_rows"]


def sparse_fill_empty_rows(
    sp_input: SparseTensor | SparseTensorValue, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Adds an element at the start of each empty row of the first axis.

    Args:
        sp_input: The sparse tensor, of rank 1 or more.
        default_value: The element to add, a scalar of the same type.
        name: Name of the scope.

    Returns:
        The sparse tensor, with its elements in row order, and a bool for each row that is True if
        the row was empty.

    Raises:
        InvalidArgumentError: At run time, if a row is out of range.
        TypeError: If `sp_input` is not a sparse tensor, or the default has the wrong type.
        ValueError: If the default is not a scalar, or `sp_input` is a scalar.
    """
    sparse = as_sparse_tensor(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sparse.indices]):
        default = convert_to_tensor(default_value, sparse.dtype.base_dtype)
        inputs = [
            Input("indices", sparse.indices, dtypes.int64),
            Input("values", sparse.values),
            Input("dense_shape", sparse.dense_shape, dtypes.int64),
            Input("default_value", default),
        ]
        indices, values, was_empty, _ = apply_op("SparseFillEmptyRows", inputs, _infer).outputs
        return SparseTensor(indices, values, sparse.dense_shape), was_empty


def _infer(indices: Tensor, values: Tensor, dense_shape: Tensor, default: Tensor) -> Outputs:
    check_rank(default.shape, 0)
    static = constant_value_as_shape(dense_shape)
    if static.rank == 0:
        raise ShapeConflict("dense_shape must not be empty")
    width = indices.shape[1] if indices.shape.rank == 2 else None
    count = indices.shape[0] if indices.shape.rank else None
    return [
        (dtypes.int64, TensorShape([None, width])),
        (values.dtype.base_dtype, TensorShape([None])),
        (dtypes.bool, TensorShape([static[0] if static.rank else None])),
        (dtypes.int64, TensorShape([count])),
    ]


define("SparseFillEmptyRows")
