"""Sorts the elements of a sparse tensor by their indices.

Source: `tf.sparse_reorder` in TensorFlow 1.15.
"""

from headrace.core import dtypes
from headrace.graph import Tensor, define
from headrace.ops.array.placeholder import identity
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_reorder"]


def sparse_reorder(
    sp_input: SparseTensor | SparseTensorValue, name: str | None = None
) -> SparseTensor:
    """Returns a sparse tensor with its elements sorted by their indices.

    Args:
        sp_input: The sparse tensor. Its indices are not checked against its shape.
        name: Name of the operation.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor.
    """
    sp_input = as_sparse_tensor(sp_input)
    inputs = [
        Input("input_indices", sp_input.indices, dtypes.int64),
        Input("input_values", sp_input.values),
        Input("input_shape", sp_input.dense_shape, dtypes.int64),
    ]

    def infer(indices: Tensor, values: Tensor, _: Tensor) -> Outputs:
        return [(dtypes.int64, indices.shape), (values.dtype.base_dtype, values.shape)]

    indices, values = apply_op("SparseReorder", inputs, infer, name=name).outputs
    return SparseTensor(indices, values, identity(sp_input.dense_shape))


define("SparseReorder")
