"""Feeding sparse tensors, ordering them, and making dense ones of them.

Source: `tf.sparse_placeholder`, `tf.sparse_reorder`, `tf.sparse_to_dense` and
`tf.sparse_tensor_to_dense` of TensorFlow 1.15.
"""

from typing import Any, Final

from headrace import dtypes
from headrace.graph import Tensor
from headrace.ops.arguments import Input, apply_op
from headrace.ops.conversion import constant_value_as_shape, convert_to_tensor
from headrace.ops.inference import check_rank
from headrace.ops.placeholders import identity, placeholder
from headrace.ops.sparse import SparseTensor
from headrace.shapes import as_shape

__all__ = [
    "sparse_placeholder",
    "sparse_reorder",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
]

_INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Makes a sparse tensor whose value each run must feed.

    Args:
        dtype: Type of the elements.
        shape: The shape of the whole, or an integer vector that will say it; None for any.
        name: Name of its parts: `name/values`, `name/indices` and `name/shape`.
    """

    def part(suffix: str) -> str | None:
        return None if name is None else f"{name}/{suffix}"

    dense_shape = _shape_part(shape, part("shape"))
    rank = dense_shape.shape[0].value
    values = placeholder(dtype, shape=[None], name=part("values"))
    indices = placeholder(dtypes.int64, shape=[None, rank], name=part("indices"))
    return SparseTensor(indices, values, dense_shape)


def _shape_part(shape: Any, name: str | None) -> Tensor:
    if isinstance(shape, Tensor):
        return convert_to_tensor(shape, dtype=dtypes.int64, name=name)
    static = as_shape(shape)
    if not static.is_fully_defined():
        return placeholder(dtypes.int64, shape=[static.rank], name=name)
    return convert_to_tensor(static.as_list(), dtype=dtypes.int64, name=name)


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

    attrs = {"validate_indices": bool(validate_indices)}
    return apply_op("SparseToDense", inputs, infer, name=name, attrs=attrs).outputs[0]


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


def sparse_reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with its elements in the order of their indices.

    Args:
        sp_input: The sparse tensor. Its indices are not compared with its shape.
        name: Name of the operation.

    Raises:
        TypeError: If it is no sparse tensor.
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    inputs = [
        Input("input_indices", sp_input.indices, dtypes.int64),
        Input("input_values", sp_input.values),
        Input("input_shape", sp_input.dense_shape, dtypes.int64),
    ]

    def infer(indices: Tensor, values: Tensor, _: Tensor) -> Any:
        return [(dtypes.int64, indices.shape), (values.dtype.base_dtype, values.shape)]

    indices, values = apply_op("SparseReorder", inputs, infer, name=name).outputs
    return SparseTensor(indices, values, identity(sp_input.dense_shape))
