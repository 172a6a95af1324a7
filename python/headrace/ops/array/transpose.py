"""Transposition: changes the order of a tensor's axes.

Source: `tf.transpose` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define, name_scope
from headrace.ops.array.range import range as range_of
from headrace.ops.array.shape import rank
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import (
    BlockInput,
    known_integers,
    made_with_integers,
    moved_axis,
)
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, by_either, fail
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import equal

__all__ = ["transpose"]


def transpose(
    a: TensorLike, perm: TensorLike | None = None, conjugate: bool = False, name: str = "transpose"
) -> Tensor:
    """Reorders the axes of a tensor.

    Args:
        a: The tensor.
        perm: For each axis of the result, the axis of `a` to use. By default, the axes are
            reversed.
        conjugate: If True, complex elements are conjugated.
        name: Name of the operation.

    Raises:
        ValueError: If `perm` has the wrong length, or an axis does not exist.
    """
    with name_scope(name, "transpose", [a]) as scope:
        if perm is None:
            a = convert_to_tensor(a, name="a")
            rank = a.shape.rank
            perm = np.arange(rank - 1, -1, -1) if rank else _reversed_axes(a)
        inputs = [
            Input("x", a),
            Input("perm", perm, var="Tperm", allowed=INDEX_TYPES, default=dtypes.int32),
        ]

        def kernel(x: Array, order: Array) -> Array:
            axes = order.tolist()
            _check_permutation(axes, x.ndim)
            moved = np.transpose(x, axes)
            return np.conj(moved) if conjugate else moved

        op_type = "ConjugateTranspose" if conjugate else "Transpose"
        return apply_op(op_type, inputs, _infer_transpose, name=scope, kernel=kernel).outputs[0]


def order_with_last(tensor: Tensor, axis: int) -> Tensor | list[int]:
    """Returns a tensor's axes in order, but with one axis swapped with the last."""
    ndims = tensor.shape.rank
    if ndims is not None:
        order = list(range(ndims))
        order[axis], order[-1] = order[-1], order[axis]
        return order
    number = rank(tensor)
    last = number - 1
    dim = number + axis if axis < 0 else axis
    axes = range_of(number)
    is_dim, is_last = (cast(equal(axes, each), dtypes.int32) for each in (dim, last))
    return axes + is_dim * (last - dim) + is_last * (dim - last)


def _reversed_axes(tensor: Tensor) -> Tensor:
    op = apply_op(
        "Rank",
        [Input("input", tensor)],
        lambda _: [(dtypes.int32, TensorShape([]))],
        kernel=lambda x: x.ndim,
    )
    rank = op.outputs[0]
    return (rank - 1) - range_of(0, rank, 1, name="Range")


def _check_permutation(axes: list[int], rank: int) -> None:
    if len(axes) != rank:
        fail(
            f"transpose expects a vector of size {rank}. But input(1) is a vector of size "
            f"{len(axes)}"
        )
    for axis in axes:
        if not 0 <= axis < rank:
            fail(f"{axis} is out of range [0 .. {rank})")
    for axis in range(rank):
        if axis not in axes:
            fail(f"{axis} is missing from {{{','.join(map(str, axes))}}}.")


def _infer_transpose(tensor: Tensor, perm: Tensor) -> Outputs:
    check_rank(perm.shape, 1)
    rank = tensor.shape.rank
    length = perm.shape[0].value
    if rank is None:
        return [(tensor.dtype.base_dtype, unknown_shape(length))]
    if length not in (None, rank):
        raise ShapeConflict(f"Dimension must be {rank} but is {length}")
    order = fold(perm)
    if order is None:
        return [(tensor.dtype.base_dtype, unknown_shape(rank))]
    sizes: list[Any] = tensor.shape.as_list()
    for axis in order.tolist():
        if not -rank <= axis < rank:
            raise ShapeConflict(f"perm dim {axis} is out of range of input rank {rank}")
    return [(tensor.dtype.base_dtype, TensorShape([sizes[axis] for axis in order.tolist()]))]


def _transpose_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    block, order = inputs
    axes = known_integers(order.row)
    if axes is None:
        return None
    return made_with_integers(op, block, [(order.row, [0, *map(moved_axis, axes)])])


define("Transpose", computed=by_either, batch_rule=_transpose_blocks)
define("ConjugateTranspose")
