"""`tf.sparse`: sparse tensors under their newer names."""

from typing import TYPE_CHECKING

from headrace.ops.sparse.ids import sparse_to_indicator as to_indicator
from headrace.ops.sparse.placeholder import sparse_placeholder as placeholder
from headrace.ops.sparse.reorder import sparse_reorder as reorder
from headrace.ops.sparse.tensor import SparseTensor
from headrace.ops.sparse.to_dense import sparse_tensor_to_dense as to_dense
from headrace.tf1.adapters.sparse import sparse_merge as merge
from headrace.tf1.namespace import namespace

__all__ = ["SparseTensor", "merge", "placeholder", "reorder", "to_dense", "to_indicator"]

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
