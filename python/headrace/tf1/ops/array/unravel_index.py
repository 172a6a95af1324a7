"""Converts flat indices to per-axis indices.

Source: `tf.unravel_index` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["unravel_index"]


def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """Converts flat indices to one index per axis.

    Args:
        indices: The positions, an integer scalar or vector.
        dims: The shape of the tensor, with the same type.
        name: Name of the operation.

    Returns:
        One row per axis: (axes, indices), or a vector if `indices` is a scalar.

    Raises:
        InvalidArgumentError: At run time, if an index is out of range.
    """

    def infer(indices: Tensor, sizes: Tensor) -> Outputs:
        check_rank(sizes.shape, 1)
        dtype, rank = indices.dtype.base_dtype, indices.shape.rank
        if rank is None:
            return [(dtype, unknown_shape())]
        if rank > 1:
            raise ShapeConflict(f"Shape must be at most rank 1 but is rank {rank}")
        number = sizes.shape.with_rank(1)[0].value
        return [(dtype, TensorShape([number]).concatenate(indices.shape))]

    def kernel(indices: Array, sizes: Array) -> Array:
        if indices.ndim > 1:
            fail("The indices can only be scalar or vector.")
        if sizes.ndim != 1:
            fail("The indices can only be 1-D")
        if (sizes == 0).any():
            fail("Input dims cannot contain a dim of zero")
        total = int(np.prod(sizes.astype(object)))
        if ((indices < 0) | (indices >= total)).any():
            fail("index is out of bound as with dims")
        rows = np.unravel_index(indices, tuple(sizes.tolist()))
        return np.array(rows, dtype=indices.dtype).reshape(len(sizes), *indices.shape)

    inputs = [
        Input("indices", indices, var="Tidx", allowed=INDEX_TYPES),
        Input("dims", dims, var="Tidx"),
    ]
    return apply_op("UnravelIndex", inputs, infer, name=name, kernel=kernel).outputs[0]


define("UnravelIndex")
