"""Concatenates sparse tensors along an axis.

Source: `tf.sparse_concat` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Tensor, define
from headrace.ops.array.join import concat, stack
from headrace.ops.framework.arguments import InputList, Outputs, apply_op
from headrace.ops.framework.attributes import int_attr
from headrace.ops.framework.conversion import constant
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import merge_shapes
from headrace.ops.math.reduce import reduce_max
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse_tensor

__all__ = ["sparse_concat"]


def sparse_concat(
    axis: int,
    sp_inputs: Sequence[SparseTensor | SparseTensorValue],
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Concatenates sparse tensors along an axis. The elements of the result are in order.

    Args:
        axis: The axis, in [-rank, rank).
        sp_inputs: A list of sparse tensors of the same type and rank. A single tensor is returned
            unchanged.
        expand_nonconcat_dims: Whether the sizes of other axes can differ. If so, the result has the
            largest size along each axis.
        name: Name of the operation.

    Raises:
        InvalidArgumentError: At run time, if the axis does not exist, or ranks or sizes differ.
        TypeError: If `sp_inputs` is not a list of sparse tensors, or the axis is not an integer.
        ValueError: If the list is empty, or ranks are known to differ.
    """
    if not isinstance(sp_inputs, (list, tuple)):
        raise TypeError("Inputs must be a list or tuple.")
    items = [as_sparse_tensor(each) for each in sp_inputs]
    if not items:
        raise ValueError(
            "List argument 'indices' to 'SparseConcat' Op with length 0 shorter than minimum "
            "length 2."
        )
    dim = int_attr("concat_dim", axis)
    if len(items) == 1:
        return items[0]
    shapes = [each.dense_shape for each in items]
    if expand_nonconcat_dims:
        shapes = _expanded(shapes, dim)

    def infer(*tensors: Tensor) -> Outputs:
        count = len(items)
        rows, rank = TensorShape([0]), unknown_shape(1)
        for indices, sizes in zip(tensors[:count], tensors[2 * count :], strict=True):
            static_shape = indices.shape if indices.shape.rank == 2 else unknown_shape(2)
            rows = TensorShape([rows[0] + static_shape[0]])
            rank = merge_shapes(merge_shapes(rank, static_shape[1:]), sizes.shape)
        dtype = tensors[count].dtype.base_dtype
        indices_shape = rows.concatenate(rank)
        return [(dtypes.int64, indices_shape), (dtype, rows), (dtypes.int64, rank)]

    inputs = [
        InputList("indices", [each.indices for each in items], dtypes.int64, var="Tindices"),
        InputList("values", [each.values for each in items]),
        InputList("shapes", shapes, dtypes.int64, var="Tshape"),
    ]
    attrs = {"concat_dim": dim, "N": len(items)}
    op = apply_op("SparseConcat", inputs, infer, name=name, attrs=attrs)
    indices, values, dense_shape = op.outputs
    sizes = _joined_sizes(shapes, dim)
    if sizes is not None:
        dense_shape = constant(sizes, dtypes.int64)
    return SparseTensor(indices, values, dense_shape)


def _expanded(shapes: Sequence[Tensor], axis: int) -> list[Tensor]:
    """Returns the shapes with the largest size along each axis except one."""
    largest = reduce_max(stack(shapes), 0)
    # No axes follow the last axis, but its index -1 + 1 would mean the first axis.
    behind = [] if axis == -1 else [largest[axis + 1 :]]
    own = slice(axis, None if axis == -1 else axis + 1)
    return [concat([largest[:axis], each[own], *behind], 0) for each in shapes]


def _joined_sizes(shapes: Sequence[Tensor], axis: int) -> list[int] | None:
    """Returns the sizes of the result, or None if they are unknown or do not match."""
    static = [fold(shape) for shape in shapes]
    if any(sizes is None for sizes in static):
        return None
    lists = [sizes.tolist() for sizes in static if sizes is not None]
    rank = len(lists[0])
    if not -rank <= axis < rank:
        return None
    dim = axis % rank
    if len({(*sizes[:dim], *sizes[dim + 1 :]) for sizes in lists}) > 1:
        return None
    joined = list(lists[0])
    joined[axis] = sum(sizes[axis] for sizes in lists)
    return joined if -1 < joined[axis] < 2**63 else None


define("SparseConcat")
