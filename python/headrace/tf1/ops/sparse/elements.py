"""Selects elements of a sparse tensor.

Source: `tf.sparse_retain` and `tf.sparse.from_dense` in TensorFlow 1.15.
"""

from headrace.core import dtypes
from headrace.graph import TensorLike, name_scope
from headrace.ops.array.fill import zeros_like
from headrace.ops.array.gather import gather, gather_nd
from headrace.ops.array.placeholder import identity
from headrace.ops.array.reshape import squeeze
from headrace.ops.array.shape import shape
from headrace.ops.array.where import where
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.compare import not_equal
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_from_dense", "sparse_retain"]


def sparse_retain(
    sp_input: SparseTensor | SparseTensorValue, to_retain: TensorLike
) -> SparseTensor:
    """Returns a sparse tensor of the same shape with only some of the elements.

    Args:
        sp_input: The sparse tensor, with n elements.
        to_retain: Bools, (n,): whether to keep each element.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor.
        ValueError: If the numbers of bools and elements are known to differ.
    """
    sp_input = as_sparse_tensor(sp_input)
    kept = convert_to_tensor(to_retain)
    kept.shape.assert_has_rank(1)
    sp_input.values.shape[0].assert_is_compatible_with(kept.shape[0])
    positions = squeeze(where(kept), [1])
    return SparseTensor(
        gather(sp_input.indices, positions),
        gather(sp_input.values, positions),
        identity(sp_input.dense_shape),
    )


def sparse_from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Returns the elements of a tensor that are not zero, empty or False.

    Args:
        tensor: The dense tensor, of at least one dimension.
        name: Name of the scope.
    """
    with name_scope(name, "dense_to_sparse"):
        dense = convert_to_tensor(tensor)
        indices = where(not_equal(dense, zeros_like(dense)))
        return SparseTensor(indices, gather_nd(dense, indices), shape(dense, out_type=dtypes.int64))
