"""`tf.sparse`: sparse tensors under their newer names."""

from typing import TYPE_CHECKING

from headrace.ops.sparse.tensor import SparseTensor
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
from headrace.tf1.ops.sparse.cross import sparse_cross as cross
from headrace.tf1.ops.sparse.cross import sparse_cross_hashed as cross_hashed
from headrace.tf1.ops.sparse.elements import sparse_from_dense as from_dense
from headrace.tf1.ops.sparse.elements import sparse_retain as retain
from headrace.tf1.ops.sparse.elementwise import sparse_maximum as maximum
from headrace.tf1.ops.sparse.elementwise import sparse_minimum as minimum
from headrace.tf1.ops.sparse.eye import sparse_eye as eye
from headrace.tf1.ops.sparse.fill_empty_rows import sparse_fill_empty_rows as fill_empty_rows
from headrace.tf1.ops.sparse.ids import sparse_to_indicator as to_indicator
from headrace.tf1.ops.sparse.layout import sparse_expand_dims as expand_dims
from headrace.tf1.ops.sparse.layout import sparse_reset_shape as reset_shape
from headrace.tf1.ops.sparse.layout import sparse_transpose as transpose
from headrace.tf1.ops.sparse.matmul import sparse_tensor_dense_matmul as matmul
from headrace.tf1.ops.sparse.matmul import sparse_tensor_dense_matmul as sparse_dense_matmul
from headrace.tf1.ops.sparse.placeholder import sparse_placeholder as placeholder
from headrace.tf1.ops.sparse.reorder import sparse_reorder as reorder
from headrace.tf1.ops.sparse.reshape import sparse_reshape as reshape
from headrace.tf1.ops.sparse.slice import sparse_slice as slice
from headrace.tf1.ops.sparse.softmax import sparse_softmax as softmax
from headrace.tf1.ops.sparse.to_dense import sparse_tensor_to_dense as to_dense

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

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
