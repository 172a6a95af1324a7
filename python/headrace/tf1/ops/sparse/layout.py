"""Sparse tensors with the same elements in a different shape.

Source: `tf.sparse_reset_shape`, `tf.sparse_transpose` and `tf.sparse.expand_dims` of TensorFlow
1.15.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.ops.array.fill import zeros
from headrace.ops.array.gather import gather
from headrace.ops.array.join import concat
from headrace.ops.array.placeholder import identity
from headrace.ops.array.range import range as range_of
from headrace.ops.array.shape import shape, size
from headrace.ops.array.slice import slice as slice_of
from headrace.ops.array.where import where
from headrace.ops.control.assertions import assert_equal, assert_less_equal
from headrace.ops.control.control_flow import with_dependencies
from headrace.ops.framework.conversion import constant_value, convert_to_tensor
from headrace.ops.math.arithmetic import maximum
from headrace.ops.math.cast import cast
from headrace.ops.math.reduce import reduce_max
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor
from headrace.tf1.ops.sparse.reorder import sparse_reorder

__all__ = ["sparse_expand_dims", "sparse_reset_shape", "sparse_transpose"]


def sparse_reset_shape(
    sp_input: SparseTensor | SparseTensorValue, new_shape: TensorLike | None = None
) -> SparseTensor:
    """Returns a sparse tensor with the same elements in a larger or the smallest possible shape.

    Args:
        sp_input: The sparse tensor.
        new_shape: Integers, (rank,), at least as large as the old sizes. Defaults to the smallest
            shape that contains all elements, or to zeros if there are no elements.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor.
        ValueError: If the new shape is known to have a different rank or a smaller size. Otherwise,
            the run raises `InvalidArgumentError`.
    """
    sp_input = as_sparse_tensor(sp_input)
    indices, values = identity(sp_input.indices), identity(sp_input.values)
    old = identity(sp_input.dense_shape)
    if new_shape is None:
        # If there are no indices, the maximum is the smallest integer.
        return SparseTensor(indices, values, maximum(reduce_max(indices, axis=0) + 1, 0))
    new = convert_to_tensor(new_shape)
    new.shape.assert_has_rank(1)
    new = cast(new, dtypes.int64)
    new.shape[0].assert_is_compatible_with(old.shape[0])
    static = constant_value(new)
    if static is None or not sp_input.shape.is_fully_defined():
        new = with_dependencies([assert_equal(shape(old), shape(new))], new)
        return SparseTensor(indices, values, with_dependencies([assert_less_equal(old, new)], new))
    before = np.array(sp_input.shape.as_list())
    if (before > static).any():
        # The two shapes are in the same order as in TensorFlow's message.
        raise ValueError(
            "Requested new_shape should have dimension sizes >= sp_input.shape.  "
            f"Found new_shape ({before}), sp_input.shape ({static})."
        )
    return SparseTensor(indices, values, static)


def sparse_transpose(
    sp_input: SparseTensor | SparseTensorValue,
    perm: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Returns a sparse tensor with its dimensions in a different order.

    Args:
        sp_input: The sparse tensor.
        perm: Integers, (rank,): for each new dimension, the old dimension to use. By default, the
            dimensions are reversed.
        name: Name of the scope.

    Returns:
        A sparse tensor with its elements in order.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor.
    """
    sp_input = as_sparse_tensor(sp_input)
    with name_scope(name, "SparseTranspose", [sp_input.indices]):
        if perm is not None:
            order = convert_to_tensor(perm)
        elif (rank := sp_input.shape.rank) is not None:
            order = convert_to_tensor(list(reversed(range(rank))), dtypes.int32)
        else:
            dimensions = size(sp_input.dense_shape)
            order = range_of(dimensions - 1, -1, -1)
        indices = gather(sp_input.indices, order, axis=1)
        static, before = constant_value(order), sp_input.shape
        if static is not None and before.is_fully_defined():
            sizes = convert_to_tensor([before.as_list()[each] for each in static], dtypes.int64)
        else:
            sizes = gather(sp_input.dense_shape, order)
        return sparse_reorder(SparseTensor(indices, sp_input.values, sizes))


def sparse_expand_dims(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Returns a sparse tensor with one more dimension, of size 1.

    Args:
        sp_input: The sparse tensor.
        axis: The position of the new dimension in the result, in [-rank - 1, rank]. Defaults to the
            end.
        name: Name of the scope.

    Raises:
        TypeError: If `sp_input` is not a sparse tensor, or the axis is neither an integer nor a
            tensor.
        ValueError: If the axis is known to be out of range. Otherwise, the run raises
            `InvalidArgumentError`.
    """
    sp_input = as_sparse_tensor(sp_input)
    dim = -1 if axis is None else axis
    if not isinstance(dim, (Integral, Tensor)):
        raise TypeError(
            "axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]"
        )
    with name_scope(name, "expand_dims", [sp_input.indices]):
        rank = sp_input.dense_shape.shape[0].value
        tensor = convert_to_tensor(dim, dtypes.int32)
        static = constant_value(tensor)
        if static is None or rank is None:
            dimensions = size(sp_input.dense_shape) if rank is None else rank
            at = where(tensor < 0, tensor + dimensions + 1, tensor)
        elif -rank - 1 <= static <= rank:
            at = convert_to_tensor(static % (rank + 1), dtypes.int32)
        else:
            raise ValueError(
                f"sparse.expand_dims: axis is {static}, expected an integer in [{-rank - 1}, "
                f"{rank}]."
            )
        column = zeros([shape(sp_input.indices)[0], 1], dtypes.int64)
        one = convert_to_tensor([1], dtypes.int64)
        # `slice_of` rejects an axis that is out of range. Subscripts would not.
        indices, sizes = sp_input.indices, sp_input.dense_shape
        before = slice_of(indices, [0, 0], [-1, at]), slice_of(sizes, [0], [at])
        after = slice_of(indices, [0, at], [-1, -1]), slice_of(sizes, [at], [-1])
        return SparseTensor(
            concat([before[0], column, after[0]], 1),
            sp_input.values,
            concat([before[1], one, after[1]], 0),
        )
