"""`tf.sparse`: sparse tensors under their newer names."""

from typing import TYPE_CHECKING

from headrace.ops.sparse.cross import sparse_cross as cross
from headrace.ops.sparse.cross import sparse_cross_hashed as cross_hashed
from headrace.ops.sparse.elements import sparse_from_dense as from_dense
from headrace.ops.sparse.elements import sparse_retain as retain
from headrace.ops.sparse.elementwise import sparse_maximum as maximum
from headrace.ops.sparse.elementwise import sparse_minimum as minimum
from headrace.ops.sparse.eye import sparse_eye as eye
from headrace.ops.sparse.fill_empty_rows import sparse_fill_empty_rows as fill_empty_rows
from headrace.ops.sparse.ids import sparse_to_indicator as to_indicator
from headrace.ops.sparse.layout import sparse_expand_dims as expand_dims
from headrace.ops.sparse.layout import sparse_reset_shape as reset_shape
from headrace.ops.sparse.layout import sparse_transpose as transpose
from headrace.ops.sparse.matmul import sparse_tensor_dense_matmul as matmul
from headrace.ops.sparse.matmul import sparse_tensor_dense_matmul as sparse_dense_matmul
from headrace.ops.sparse.placeholder import sparse_placeholder as placeholder
from headrace.ops.sparse.reorder import sparse_reorder as reorder
from headrace.ops.sparse.reshape import sparse_reshape as reshape
from headrace.ops.sparse.slice import sparse_slice as slice
from headrace.ops.sparse.softmax import sparse_softmax as softmax
from headrace.ops.sparse.tensor import SparseTensor
from headrace.ops.sparse.to_dense import sparse_tensor_to_dense as to_dense
from headrace.tf1.adapters.sparse import sparse_add as add
from headrace.tf1.adapters.sparse import sparse_concat as concat
from headrace.tf1.adapters.sparse import sparse_merge as merge
from headrace.tf1.adapters.sparse import sparse_reduce_max as reduce_max
from headrace.tf1.adapters.sparse import sparse_reduce_max_sparse as reduce_max_sparse
from headrace.tf1.adapters.sparse import sparse_reduce_sum as reduce_sum
from headrace.tf1.adapters.sparse import sparse_reduce_sum_sparse as reduce_sum_sparse
from headrace.tf1.adapters.sparse import sparse_segment_mean as segment_mean
from headrace.tf1.adapters.sparse import sparse_segment_sqrt_n as segment_sqrt_n
from headrace.tf1.adapters.sparse import sparse_segment_sum as segment_sum
from headrace.tf1.adapters.sparse import sparse_split as split
from headrace.tf1.indexed_slices import sparse_mask as mask
from headrace.tf1.namespace import namespace

__all__ = [
    "SparseTensor",
    "add",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that it reports wrong names.
    __getattr__, __dir__ = namespace(__name__, __all__)
