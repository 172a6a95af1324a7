"""All operations over arrays, gathered from the modules that define them."""

from headrace.ops.filling import fill, ones, ones_like, zeros, zeros_like
from headrace.ops.indexing import newaxis, slice, strided_slice
from headrace.ops.joining import concat, split, stack, unstack
from headrace.ops.measures import rank, shape, size
from headrace.ops.placeholders import (
    identity,
    placeholder,
    placeholder_with_default,
    stop_gradient,
)
from headrace.ops.repeating import pad, reverse, tile
from headrace.ops.selection import boolean_mask, gather, gather_nd, one_hot, where
from headrace.ops.shaping import broadcast_to, expand_dims, reshape, squeeze, transpose
from headrace.ops.sparse_dense import (
    sparse_placeholder,
    sparse_tensor_to_dense,
    sparse_to_dense,
)

__all__ = [
    "boolean_mask",
    "broadcast_to",
    "concat",
    "expand_dims",
    "fill",
    "gather",
    "gather_nd",
    "identity",
    "newaxis",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "placeholder",
    "placeholder_with_default",
    "rank",
    "reshape",
    "reverse",
    "shape",
    "size",
    "slice",
    "sparse_placeholder",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "split",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "tile",
    "transpose",
    "unstack",
    "where",
    "zeros",
    "zeros_like",
]
