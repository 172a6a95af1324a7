"""Operations that keep the elements but change the shape.

Source: `tf.reshape`, `tf.expand_dims`, `tf.squeeze` and `tf.ensure_shape` in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from headrace.core import dtypes
from headrace.core.shapes import ShapeLike, TensorShape, as_shape, bracketed, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import (
    BlockInput,
    batched_shape,
    create,
    integers,
    known_integers,
    made_again,
    made_with_integers,
    moved_axis,
    num_rows,
)
from headrace.ops.framework.conversion import constant_value_as_shape
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold_scalar
from headrace.ops.framework.inference import ShapeConflict, check_rank, merge_shapes
from headrace.ops.framework.kernel import Array, by_either, fail

__all__ = ["ensure_shape", "expand_dims", "reshape", "squeeze"]


def reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Returns the same elements in a new shape.

    Args:
        tensor: The tensor.
        shape: The new shape, an integer vector. One of the sizes can be -1. It is then computed
            from the rest.
        name: Name of the operation.

    Raises:
        ValueError: If the static shapes have different numbers of elements.

    Examples:
        >>> flatten = hr.native(lambda example: {"y": hr.ops.reshape(example["x"], [-1])})
        >>> flatten({"x": np.array([[1, 2], [3, 4]])})
        {'y': array([1, 2, 3, 4])}
    """
    inputs = [
        Input("tensor", tensor),
        Input("shape", shape, var="Tshape", allowed=INDEX_TYPES, default=dtypes.int32),
    ]
    return apply_op("Reshape", inputs, _infer_reshape, name=name).outputs[0]


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Checks the shape of a tensor and returns the tensor unchanged.

    Use it after an operation whose result has an unknown static shape, such as `decode_image`.

    Args:
        x: The tensor.
        shape: The expected shape, with None for each size that can vary.
        name: Name of the operation.

    Returns:
        The same values, with a static shape that includes `shape`.

    Raises:
        InvalidArgumentError: At run time, if the shape is different.
        ValueError: If the static shape is already incompatible.
    """
    requested_shape = as_shape(shape)

    def infer(tensor: Tensor) -> Outputs:
        return [(tensor.dtype.base_dtype, merge_shapes(requested_shape, tensor.shape))]

    def kernel(array: Array) -> Array:
        if not requested_shape.is_compatible_with(TensorShape(array.shape)):
            fail(
                f"Shape of tensor {bracketed(array.shape)} is not compatible with expected shape "
                f"{bracketed(requested_shape)}."
            )
        return array

    attrs = {"shape": requested_shape}
    op = apply_op("EnsureShape", [Input("input", x)], infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def expand_dims(input: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Adds an axis of size 1 to a tensor.

    Args:
        input: The tensor.
        axis: The position of the new axis. If -1, the new axis is the last one.
        name: Name of the operation.

    Raises:
        ValueError: If the position does not exist.
    """
    inputs = [
        Input("input", input),
        Input("dim", axis, var="Tdim", allowed=INDEX_TYPES, default=dtypes.int32),
    ]

    def kernel(x: Array, dim: Array) -> Array:
        if dim.size != 1:
            fail("'dim' must be a tensor with a single value")
        index = int(dim.item())
        if not -x.ndim - 1 <= index <= x.ndim:
            fail(f"Tried to expand dim index {index} for tensor with {x.ndim} dimensions.")
        return np.expand_dims(x, index)

    return apply_op("ExpandDims", inputs, _infer_expand, name=name, kernel=kernel).outputs[0]


def squeeze(
    input: TensorLike,
    axis: SupportsIndex | Sequence[SupportsIndex] | npt.NDArray[Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Removes axes of size 1 from a tensor.

    Args:
        input: The tensor.
        axis: The axis or axes to remove. Defaults to all axes of size 1.
        name: Name of the operation.

    Raises:
        ValueError: If the axis does not exist, or its size is known not to be 1.
    """
    try:
        axes = [] if axis is None else [int(a) for a in np.ravel(np.asarray(axis))]
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"Expected int for argument 'axis' not {axis!r}.") from None

    def infer(tensor: Tensor) -> Outputs:
        return [(tensor.dtype.base_dtype, _squeezed(tensor.shape, axes))]

    def kernel(x: Array) -> Any:
        for dim in axes:
            if not -x.ndim <= dim < x.ndim:
                fail(f"Tried to squeeze dim index {dim} for tensor with {x.ndim} dimensions.")
        try:
            return x.reshape(_squeezed(TensorShape(x.shape), axes).as_list())
        except ShapeConflict as conflict:
            fail(str(conflict))

    attrs = {"squeeze_dims": axes}
    op = apply_op("Squeeze", [Input("input", input)], infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _infer_reshape(tensor: Tensor, shape: Tensor) -> Outputs:
    check_rank(shape.shape, 1)
    requested_shape = constant_value_as_shape(shape)
    return [(tensor.dtype.base_dtype, _complete(tensor.shape, requested_shape))]


def _complete(old: TensorShape, new: TensorShape) -> TensorShape:
    """Computes a new shape's unknown size from the old shape, if possible."""
    total = old.num_elements()
    if total is None or new.rank is None:
        return new
    sizes = new.as_list()
    product = math.prod(size for size in sizes if size is not None)
    missing = sizes.count(None)
    if missing == 0 and product != total:
        raise ShapeConflict(
            f"Cannot reshape a tensor with {total} elements to shape {bracketed(new)} "
            f"({product} elements)"
        )
    if missing == 1 and product:
        if total % product:
            raise ShapeConflict(
                f"Dimension size must be evenly divisible by {product} but is {total}"
            )
        return TensorShape([total // product if size is None else size for size in sizes])
    return new


def _dim_error(dim: int, rank: int) -> str:
    return f"dim {dim} not in the interval [{-rank - 1}, {rank}]."


def _infer_expand(tensor: Tensor, dim: Tensor) -> Outputs:
    if dim.shape.num_elements() not in (None, 1):
        raise ShapeConflict("'dim' input must be a tensor with a single value")
    index, rank = fold_scalar(dim), tensor.shape.rank
    if rank is None or index is None:
        return [(tensor.dtype.base_dtype, unknown_shape())]
    if not -rank - 1 <= index <= rank:
        raise ShapeConflict(_dim_error(index, rank))
    sizes = tensor.shape.as_list()
    sizes.insert(index % (rank + 1), 1)
    return [(tensor.dtype.base_dtype, TensorShape(sizes))]


def _squeezed(shape: TensorShape, axes: list[int]) -> TensorShape:
    rank = shape.rank
    if rank is None:
        return unknown_shape()
    for index, axis in enumerate(axes):
        if not -rank <= axis < rank:
            raise ShapeConflict(f"squeeze_dims[{index}] not in [{-rank},{rank}).")
    removed = {axis % rank for axis in axes}
    sizes = shape.as_list()
    if not axes:
        if None in sizes:
            return unknown_shape()
        return TensorShape([size for size in sizes if size != 1])
    for axis in sorted(removed):
        if sizes[axis] not in (None, 1):
            raise ShapeConflict(
                f"Can not squeeze dim[{axis}], expected a dimension of 1, got {sizes[axis]}"
            )
    return TensorShape([size for axis, size in enumerate(sizes) if axis not in removed])


def _ensure_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor]:
    (block,) = inputs
    return made_again(op, [block.block], {"shape": batched_shape(op.attrs["shape"])})


def _expand_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    block, axis = inputs
    dim = known_integers(axis.row)
    if dim is None or len(dim) != 1:
        return None
    return made_with_integers(op, block, [(axis.row, moved_axis(dim[0]))])


def _reshape_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    block, shape = inputs
    sizes = known_integers(shape.row)
    if sizes is None:
        return None
    # The shape includes the number of rows. Rows of a different size are therefore an error, just
    # as when rows are computed one by one.
    dtype = shape.row.dtype
    parts = [num_rows(block.block, dtype), integers(sizes, dtype), integers(0, dtypes.int32)]
    block_shape = create("ConcatV2", parts, dtype, (len(sizes) + 1,), {"N": 2, "T": dtype})
    return made_again(op, [block.block, block_shape])


def _squeeze_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    (block,) = inputs
    axes, shape = op.attrs["squeeze_dims"], block.row.shape
    if not axes:
        if not shape.is_fully_defined():
            return None
        axes = [axis for axis, size in enumerate(shape.as_list()) if size == 1]
        if not axes:
            return [block.block]
    return made_again(op, [block.block], {"squeeze_dims": [moved_axis(axis) for axis in axes]})


define("EnsureShape", computed=by_either, batch_rule=_ensure_blocks)
define("ExpandDims", computed=by_either, batch_rule=_expand_blocks)
define("Reshape", fold=lambda op, x, shape: x.reshape(shape), batch_rule=_reshape_blocks)
define("Squeeze", computed=by_either, batch_rule=_squeeze_blocks)
