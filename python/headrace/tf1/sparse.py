"""`tf.sparse`: sparse tensors under their newer names."""

from headrace.ops.sparse import SparseTensor
from headrace.ops.sparse_dense import sparse_placeholder as placeholder
from headrace.ops.sparse_dense import sparse_reorder as reorder
from headrace.ops.sparse_dense import sparse_tensor_to_dense as to_dense

__all__ = ["SparseTensor", "placeholder", "reorder", "to_dense"]
