"""Sparse tensors whose values are indices into another sparse tensor.

Source: `tf.sparse_merge` and `tf.sparse_to_indicator` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.fill import fill
from headrace.ops.array.join import concat
from headrace.ops.array.reshape import expand_dims
from headrace.ops.array.shape import shape
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.cast import cast
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor
from headrace.tf1.ops.sparse.reorder import sparse_reorder
from headrace.tf1.ops.sparse.to_dense import sparse_tensor_to_dense

__all__ = ["sparse_merge", "sparse_to_indicator"]


def sparse_merge(
    sp_ids: SparseTensor | SparseTensorValue | Sequence[SparseTensor | SparseTensorValue],
    sp_values: SparseTensor | SparseTensorValue,
    vocab_size: TensorLike | Sequence[TensorLike],
    already_sorted: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Returns a sparse tensor whose indices in the last dimension are the ids.

    Args:
        sp_ids: The ids: one integer per value. To create several trailing dimensions, pass a list
            of such tensors.
        sp_values: The values.
        vocab_size: The number of ids, which is the size of the last dimension, or a list of sizes
            if `sp_ids` is a list.
        already_sorted: Whether the elements are already in order and do not need to be sorted.
        name: Name of the scope.

    Raises:
        TypeError: If the ids are not sparse tensors, or only one of ids and sizes is a list.
        ValueError: If the numbers of ids and sizes differ.
    """
    ids, sizes = _of_each(sp_ids, vocab_size)
    values = as_sparse_tensor(sp_values)
    with name_scope(name, "SparseMerge", [ids[0].indices, values.values]):
        columns = [expand_dims(cast(each.values, dtypes.int64), 1) for each in ids]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        dense_shape = concat([ids[0].dense_shape[:-1], *map(_as_vector, sizes)], 0)
        merged = SparseTensor(indices, values.values, dense_shape)
        return merged if already_sorted else sparse_reorder(merged)


def sparse_to_indicator(
    sp_input: SparseTensor | SparseTensorValue, vocab_size: TensorLike, name: str | None = None
) -> Tensor:
    """Returns bools that indicate which ids each row contains.

    Args:
        sp_input: The ids, non-negative integers of any rank.
        vocab_size: The number of ids.
        name: Name of the scope.

    Returns:
        Bools with the shape of `sp_input`, except that the last dimension is `vocab_size`.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor.
    """
    sp_input = as_sparse_tensor(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input.indices]):
        there = fill(shape(sp_input.indices)[:1], True)
        values = SparseTensor(sp_input.indices, there, sp_input.dense_shape)
        merged = sparse_merge(sp_input, values, vocab_size)
        # An ID may occur twice in a row.
        return sparse_tensor_to_dense(merged, False, validate_indices=False)


def _of_each(
    ids: SparseTensor | SparseTensorValue | Sequence[SparseTensor | SparseTensorValue],
    size: TensorLike | Sequence[TensorLike],
) -> tuple[list[SparseTensor], Sequence[TensorLike]]:
    """Returns the IDs and sizes as two lists of the same length."""
    # `SparseTensorValue` is a tuple and therefore also a sequence.
    if isinstance(ids, SparseTensorValue) or not isinstance(ids, Sequence):
        return [as_sparse_tensor(ids)], [size]
    if not isinstance(size, Sequence):
        raise TypeError(
            f"vocab_size has to be a list of Tensors or Python ints. Found {type(size)}"
        )
    if len(ids) != len(size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    return [as_sparse_tensor(each) for each in ids], size


def _as_vector(size: TensorLike) -> Tensor:
    if isinstance(size, Integral):
        return convert_to_tensor([int(size)], dtypes.int64)
    return expand_dims(cast(convert_to_tensor(size), dtypes.int64), 0)
