"""Feeding sparse tensors, and making dense ones of them.

Source: `tf.sparse_placeholder`, `tf.sparse_to_dense` and `tf.sparse_tensor_to_dense` of
TensorFlow 1.15.
"""

from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.graph import Tensor
from headrace.ops.arguments import Input, apply_op
from headrace.ops.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.inference import check_rank
from headrace.ops.kernel import Array, fail
from headrace.ops.placeholders import placeholder
from headrace.ops.sparse import SparseTensor
from headrace.shapes import TensorShape, as_shape, bracketed

__all__ = ["sparse_placeholder", "sparse_tensor_to_dense", "sparse_to_dense"]

_INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Makes a sparse tensor whose value each run must feed.

    Args:
        dtype: Type of the elements.
        shape: The shape of the whole; None for any.
        name: Name of its parts: `name/values`, `name/indices` and `name/shape`.
    """

    def part(suffix: str) -> str | None:
        return None if name is None else f"{name}/{suffix}"

    static = as_shape(shape)
    if static.rank is None:
        dense_shape = placeholder(dtypes.int64, shape=[None], name=part("shape"))
    else:
        dense_shape = _shape_part(static, part("shape"))
    values = placeholder(dtype, shape=[None], name=part("values"))
    indices = placeholder(dtypes.int64, shape=[None, static.rank], name=part("indices"))
    return SparseTensor(indices, values, dense_shape)


def _shape_part(shape: TensorShape, name: str | None) -> Tensor:
    if not shape.is_fully_defined():
        return placeholder(dtypes.int64, shape=[shape.rank], name=name)
    return convert_to_tensor(shape.as_list(), dtype=dtypes.int64, name=name)


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns a dense tensor with some elements set.

    Args:
        sparse_indices: Where the elements are: a scalar, a vector, or a matrix with a row each.
        output_shape: The shape of the result, an integer vector.
        sparse_values: The elements; a scalar for all.
        default_value: The value elsewhere.
        validate_indices: Whether indices must be in order and must not repeat.
        name: Name of the operation.
    """
    inputs = [
        Input("sparse_indices", sparse_indices, var="Tindices", allowed=_INDEX_TYPES),
        Input("output_shape", output_shape, var="Tindices"),
        Input("sparse_values", sparse_values),
        Input("default_value", default_value),
    ]

    def infer(_: Tensor, shape: Tensor, values: Tensor, default: Tensor) -> Any:
        check_rank(shape.shape, 1)
        check_rank(default.shape, 0)
        return [(values.dtype.base_dtype, constant_value_as_shape(shape))]

    def kernel(indices: Array, shape: Array, values: Array, default: Array) -> Any:
        return _scatter(indices, shape, values, default, validate_indices)

    attrs = {"validate_indices": validate_indices}
    op = apply_op("SparseToDense", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def sparse_tensor_to_dense(
    sp_input: SparseTensor,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns the dense tensor that a sparse one stands for.

    Args:
        sp_input: The sparse tensor.
        default_value: The value of elements that are not there; None for zero.
        validate_indices: Whether indices must be in order and must not repeat.
        name: Name of the operation.

    Raises:
        TypeError: If it is no sparse tensor.
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    if default_value is None:
        default_value = "" if sp_input.dtype == dtypes.string else 0
        default_value = False if sp_input.dtype.is_bool else default_value
    return sparse_to_dense(
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        default_value=default_value,
        validate_indices=validate_indices,
        name=name,
    )


def _scatter(
    indices: Array, shape: Array, values: Array, default: Array, is_checked: bool
) -> Array:
    rank = shape.size
    rows = indices.reshape(-1, rank)
    if values.ndim and values.size != len(rows):
        fail(
            f"sparse_values has incorrect shape {bracketed(values.shape)}, should be [] or "
            f"[{len(rows)}]"
        )
    for number, row in enumerate(rows):
        if (row < 0).any() or (row >= shape).any():
            fail(
                f"indices[{number}] = {bracketed(row)} is out of bounds: need 0 <= index < "
                f"{bracketed(shape)}"
            )
    if is_checked and len(rows) > 1:
        _check_order(rows)
    dense = np.full(shape, default.item(), dtype=values.dtype)
    dense[tuple(rows.T)] = values
    return dense


def _check_order(rows: Array) -> None:
    previous = rows[0].tolist()
    for number, row in enumerate(rows[1:].tolist(), 1):
        if row <= previous:
            problem = "repeated" if row == previous else "out of order"
            fail(f"indices[{number}] = {bracketed(row)} is {problem}")
        previous = row
