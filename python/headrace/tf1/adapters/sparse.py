"""Sparse tensors under the names of TensorFlow 1.

Source: `tf.sparse_merge` of TensorFlow 1.15.
"""

from collections.abc import Sequence

from headrace import ops
from headrace.graph import TensorLike
from headrace.ops import SparseTensor

__all__ = ["sparse_merge"]


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
