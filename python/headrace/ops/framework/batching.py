"""Batch rules, which turn operations on one row into operations on all rows of a block.

A rule (`OpDef.batch_rule`) accepts the operation and its inputs in the graph of blocks. It adds
operations to that graph that compute bit-identical results for all rows. It returns one tensor for
each output, with the rows along the leading axis, or None if the operation cannot be batched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core.dtypes import DType, int32
from headrace.core.shapes import TensorShape, unknown_shape
from headrace.graph import Operation, Tensor, get_default_graph
from headrace.ops.framework.folding import fold

__all__ = [
    "BatchRule",
    "BlockInput",
    "all_batched",
    "along_axis",
    "axes_over_blocks",
    "batched_shape",
    "create",
    "elementwise",
    "integers",
    "known_integers",
    "made_again",
    "made_with_integers",
    "moved_axis",
    "num_rows",
    "rows_of_first",
]


class BlockInput(NamedTuple):
    """An input of an operation.

    Attributes:
        block: The tensor in the graph of blocks: all rows, or one value shared by all rows.
        row: The tensor in the graph of the operation.
        is_batched: Whether the rows are the leading axis of `block`.
    """

    block: Tensor
    row: Tensor
    is_batched: bool


BatchRule: TypeAlias = Callable[[Operation, Sequence[BlockInput]], Sequence[Tensor] | None]


def batched_shape(shape: TensorShape) -> TensorShape:
    """Returns the shape of a block with any number of rows."""
    return unknown_shape() if shape.rank is None else TensorShape([None, *shape.as_list()])


def made_again(
    op: Operation, inputs: Sequence[Tensor], attrs: dict[str, Any] | None = None
) -> list[Tensor]:
    """Adds an operation of the same type for blocks.

    Args:
        op: The operation for a row.
        inputs: The operation's inputs for blocks.
        attrs: The attributes that differ from those of `op`.
    """
    copy = get_default_graph().create_op(
        op.type,
        inputs,
        [tensor.dtype for tensor in op.outputs],
        output_shapes=[batched_shape(tensor.shape) for tensor in op.outputs],
        attrs=op.attrs | (attrs or {}),
        kernel=op.kernel,
    )
    return copy.outputs


def elementwise(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    """Applies the rule for elementwise operations with broadcasting."""
    if len(inputs) == 1:
        return made_again(op, [inputs[0].block])
    ranks = [item.row.shape.rank for item in inputs]
    rank = max(-1 if rank is None else rank for rank in ranks)
    return None if None in ranks else made_again(op, [_aligned(item, rank) for item in inputs])


def rows_of_first(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    """Applies the rule for operations on rows of the first input, if only that input varies."""
    is_simple = not any(item.is_batched for item in inputs[1:])
    return made_again(op, [item.block for item in inputs]) if is_simple else None


def all_batched(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    """Applies the rule for operations on tensors of the same shape, if all of them vary by row."""
    are_alike = all(item.is_batched for item in inputs)
    return made_again(op, [item.block for item in inputs]) if are_alike else None


def along_axis(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    """Applies the rule for operations along an axis that is passed as the last input."""
    block, *others, axis = inputs
    dims = axes_over_blocks(axis.row, block.row.shape.rank)
    if dims is None or any(item.is_batched for item in others):
        return None
    moved = integers(dims, axis.row.dtype)
    return made_again(op, [block.block, *[item.block for item in others], moved])


def axes_over_blocks(axes: Tensor, rank: int | None) -> npt.NDArray[Any] | None:
    """Converts axes of a row with `rank` axes to axes of a block, if they are known."""
    static = fold(axes)
    if static is None or rank is None or ((static < -rank) | (static >= rank)).any():
        return None
    return np.where(static < 0, static, static + 1)


def known_integers(tensor: Tensor) -> list[int] | None:
    """Returns the elements of a vector or scalar, or None if they are not known."""
    value = fold(tensor)
    return None if value is None else [int(item) for item in value.ravel()]


def moved_axis(axis: int) -> int:
    """Returns an axis number after a leading axis has been added. Negative numbers don't change."""
    return axis if axis < 0 else axis + 1


def integers(values: npt.ArrayLike, dtype: DType) -> Tensor:
    """Creates an integer constant."""
    array = np.asarray(values, dtype.as_numpy_dtype)
    return create("Const", [], dtype, array.shape, {"value": array, "dtype": dtype})


def made_with_integers(
    op: Operation, block: BlockInput, changed: Sequence[tuple[Tensor, npt.ArrayLike]]
) -> list[Tensor]:
    """Adds the same operation for blocks, with new constants for the other inputs.

    Args:
        op: The operation for a row.
        block: The first input for blocks.
        changed: The other inputs for a row, each with its value for blocks.
    """
    inputs = [integers(value, like.dtype) for like, value in changed]
    return made_again(op, [block.block, *inputs])


def num_rows(block: Tensor, dtype: DType) -> Tensor:
    """Returns the number of rows in a block, as a one-element vector."""
    shape = create("Shape", [block], dtype, (None,), {"out_type": dtype})
    return create("Slice", [shape, integers([0], dtype), integers([1], dtype)], dtype, (1,))


def _aligned(item: BlockInput, rank: int) -> Tensor:
    """Adds axes of size 1 after the leading one, so that rows align for broadcasting."""
    block, own = item.block, item.row.shape.rank
    if not item.is_batched or own is None:
        return block
    sizes = item.row.shape.as_list()
    for missing in range(rank - own):
        shape = (None, *[1] * (missing + 1), *sizes)
        dim = integers(1, int32)
        block = create("ExpandDims", [block, dim], block.dtype, shape)
    return block


def create(
    op_type: str,
    inputs: Sequence[Tensor],
    dtype: DType,
    shape: Sequence[int | None],
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    """Adds an operation with one output."""
    op = get_default_graph().create_op(
        op_type, inputs, [dtype], output_shapes=[TensorShape(shape)], attrs=attrs
    )
    return op.outputs[0]
