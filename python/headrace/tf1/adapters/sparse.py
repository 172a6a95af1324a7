"""Sparse tensors under the names of TensorFlow 1.

Source: `tf.sparse_merge` and `tf.serialize_sparse` of TensorFlow 1.15.
"""

from collections.abc import Sequence

from headrace import ops
from headrace.dtypes import DTypeLike, string
from headrace.graph import Tensor, TensorLike
from headrace.ops import SparseTensor

__all__ = ["serialize_many_sparse", "serialize_sparse", "sparse_merge"]


def serialize_sparse(
    sp_input: SparseTensor, name: str | None = None, out_type: DTypeLike = string
) -> Tensor:
    """Calls `ops.serialize_sparse`, with its arguments in another order.

    Raises:
        TypeError: As `ops.serialize_sparse`.
    """
    return ops.serialize_sparse(sp_input, out_type, name)


def serialize_many_sparse(
    sp_input: SparseTensor, name: str | None = None, out_type: DTypeLike = string
) -> Tensor:
    """Calls `ops.serialize_many_sparse`, with its arguments in another order.

    Raises:
        TypeError: As `ops.serialize_many_sparse`.
    """
    return ops.serialize_many_sparse(sp_input, out_type, name)


def sparse_merge(
    sp_ids: SparseTensor | Sequence[SparseTensor],
    sp_values: SparseTensor,
    vocab_size: TensorLike | Sequence[TensorLike],
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Calls `ops.sparse_merge`, with its arguments in another order.

    Raises:
        TypeError: As `ops.sparse_merge`.
        ValueError: As `ops.sparse_merge`.
    """
    return ops.sparse_merge(sp_ids, sp_values, vocab_size, already_sorted, name)
