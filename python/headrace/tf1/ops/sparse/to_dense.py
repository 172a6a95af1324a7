"""Converts sparse tensors to dense ones.

Source: `tf.sparse_to_dense` and `tf.sparse_tensor_to_dense` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant_value_as_shape
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.inference import check_rank
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_tensor_to_dense", "sparse_to_dense"]


def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: TensorLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns a dense tensor with the given elements.

    Args:
        sparse_indices: The positions of the elements: a scalar, a vector, or a matrix with one row
            per element.
        output_shape: The shape of the result, an integer vector.
        sparse_values: The elements, or a scalar for all elements.
        default_value: The value of the other elements.
        validate_indices: Whether to check that indices are in order and do not repeat.
        name: Name of the operation.
    """
    inputs = [
        Input("sparse_indices", sparse_indices, var="Tindices", allowed=INDEX_TYPES),
        Input("output_shape", output_shape, var="Tindices"),
        Input("sparse_values", sparse_values),
        Input("default_value", default_value),
    ]

    def infer(_: Tensor, shape: Tensor, values: Tensor, default: Tensor) -> Outputs:
        check_rank(shape.shape, 1)
        check_rank(default.shape, 0)
        return [(values.dtype.base_dtype, constant_value_as_shape(shape))]

    attrs = {"validate_indices": bool(validate_indices)}
    return apply_op("SparseToDense", inputs, infer, name=name, attrs=attrs).outputs[0]


def sparse_tensor_to_dense(
    sp_input: SparseTensor | SparseTensorValue,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Converts a sparse tensor to a dense tensor.

    Args:
        sp_input: The sparse tensor.
        default_value: The value of missing elements. Defaults to zero.
        validate_indices: Whether to check that indices are in order and do not repeat.
        name: Name of the operation.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor.
    """
    sp_input = as_sparse_tensor(sp_input)
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


define("SparseToDense")
