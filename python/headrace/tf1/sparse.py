"""`tf.sparse`: sparse tensors under their newer names."""

from typing import TYPE_CHECKING

from headrace.ops.sparse.elements import sparse_from_dense as from_dense
from headrace.ops.sparse.elements import sparse_retain as retain
from headrace.ops.sparse.ids import sparse_to_indicator as to_indicator
from headrace.ops.sparse.layout import sparse_expand_dims as expand_dims
from headrace.ops.sparse.layout import sparse_reset_shape as reset_shape
from headrace.ops.sparse.layout import sparse_transpose as transpose
from headrace.ops.sparse.placeholder import sparse_placeholder as placeholder
from headrace.ops.sparse.reorder import sparse_reorder as reorder
from headrace.ops.sparse.tensor import SparseTensor
from headrace.ops.sparse.to_dense import sparse_tensor_to_dense as to_dense
from headrace.tf1.adapters.sparse import sparse_merge as merge
from headrace.tf1.namespace import namespace

__all__ = [
    "SparseTensor",
    "expand_dims",
    "from_dense",
    "merge",
    "placeholder",
    "reorder",
    "reset_shape",
    "retain",
    "to_dense",
    "to_indicator",
    "transpose",
]

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
