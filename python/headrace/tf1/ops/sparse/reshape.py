"""Sparse tensors with the same elements in a different shape, in row-major order.

Source: `tf.sparse_reshape` in TensorFlow 1.15.
"""

from __future__ import annotations

import math

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.placeholder import identity
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import check_rank
from headrace.ops.math.cast import cast
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_reshape"]


def sparse_reshape(
    sp_input: SparseTensor | SparseTensorValue, shape: TensorLike, name: str | None = None
) -> SparseTensor:
    """Returns a sparse tensor with the same elements, in the same order, in a new shape.

    Args:
        sp_input: The sparse tensor.
        shape: Integers, (new rank,), with the same product as the old shape. At most one integer
            can be -1.
        name: Name of the scope.

    Raises:
        InvalidArgumentError: At run time, if the new shape is invalid.
        TypeError: If `sp_input` is not a sparse tensor.
        ValueError: If the product is known to differ, or two sizes are -1.
    """
    sparse = as_sparse_tensor(sp_input)
    with name_scope(name, "SparseReshape", [sparse.indices]) as scope:
        target = cast(convert_to_tensor(shape), dtypes.int64)

        def infer(indices: Tensor, _: Tensor, sizes: Tensor) -> Outputs:
            check_rank(indices.shape, 2)
            check_rank(sizes.shape, 1)
            static_shape = sizes.shape if sizes.shape.rank else TensorShape([None])
            count = indices.shape[0] if indices.shape.rank else None
            return [
                (dtypes.int64, TensorShape([count]).concatenate(static_shape)),
                (dtypes.int64, static_shape),
            ]

        inputs = [
            Input("input_indices", sparse.indices, dtypes.int64),
            Input("input_shape", sparse.dense_shape, dtypes.int64),
            Input("new_shape", target, dtypes.int64),
        ]
        indices, dense_shape = apply_op("SparseReshape", inputs, infer, name=scope).outputs
        sizes = _known_sizes(sparse.dense_shape, target)
        if sizes is not None:
            dense_shape = constant(sizes, dtypes.int64)
        return SparseTensor(indices, identity(sparse.values), dense_shape)


def _known_sizes(old: Tensor, new: Tensor) -> list[int] | None:
    """Returns the new sizes, or None if they are unknown before the run.

    Raises:
        ValueError: If the new sizes do not match the old ones.
    """
    before, new_sizes = fold(old), fold(new)
    if before is None or new_sizes is None:
        return None
    sizes: list[int] = new_sizes.tolist()
    if min(sizes, default=0) < -1:
        return None  # The run reports the error.
    if sizes.count(-1) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {sizes}")
    count = math.prod(before.tolist())
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size != -1)
        if not rest:
            return None  # The run reports the error.
        sizes[sizes.index(-1)] = count // rest
    if math.prod(sizes) != count:
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape {sizes} "
            f"({math.prod(sizes)} elements)."
        )
    return sizes


define("SparseReshape")
