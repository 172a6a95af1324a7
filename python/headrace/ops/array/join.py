"""Concatenating, stacking and splitting tensors.

Source: `tf.concat`, `tf.stack`, `tf.split` and similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import Dimension, TensorShape, bracketed, scalar, unknown_shape
from headrace.graph import Operation, StaticValues, Tensor, TensorLike, define, name_scope
from headrace.ops.array.placeholder import identity
from headrace.ops.framework.arguments import Input, InputList, Outputs, apply_op
from headrace.ops.framework.batching import (
    BlockInput,
    axes_over_blocks,
    integers,
    known_integers,
    made_again,
    moved_axis,
)
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold, fold_by_kernel, fold_scalar
from headrace.ops.framework.inference import ShapeConflict, check_axis, check_rank, merge_shapes
from headrace.ops.framework.kernel import Array, by_either, fail
from headrace.ops.framework.primitives import stack_arrays, stack_shapes

__all__ = ["concat", "split", "stack", "unstack"]


def stack(values: TensorLike, axis: int = 0, name: str = "stack") -> Tensor:
    """Stacks tensors of the same shape along a new axis.

    Args:
        values: A list of tensors.
        axis: The position of the new axis.
        name: Name of the operation.

    Raises:
        TypeError: If the types differ.
        ValueError: If the shapes differ, or the axis does not exist.

    Examples:
        >>> pair = hr.native(lambda example: {"xy": hr.ops.stack([example["x"], example["y"]])})
        >>> pair({"x": np.float32(1), "y": np.float32(2)})
        {'xy': array([1., 2.], dtype=float32)}
    """
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # `apply_op` reports the error.
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"Expected list for 'values' argument to 'Pack' Op, not {values!r}.")
    rank = convert_to_tensor(values[0], name=name).shape.rank
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis = {axis} not in [{-rank - 1}, {rank + 1})")

    def infer(*tensors: Tensor) -> Outputs:
        return [(tensors[0].dtype.base_dtype, stack_shapes([t.shape for t in tensors], axis))]

    def kernel(*arrays: Array) -> Array:
        return stack_arrays(arrays, axis)

    attrs = {"N": len(values), "axis": axis}
    inputs = [InputList("values", values)]
    return apply_op("Pack", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Splits a tensor into its slices along an axis.

    Args:
        value: The tensor.
        num: The size of the axis. You can omit it if the static shape is known.
        axis: The axis.
        name: Name of the operation.

    Returns:
        A list with one tensor per index, without the axis.

    Raises:
        ValueError: If the axis does not exist, or its size is unknown or differs from `num`.
    """
    if num is None:
        value = convert_to_tensor(value)
        rank = value.shape.rank
        if rank is not None:
            if not -rank <= axis < rank:
                raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
            num = value.shape[axis].value
        if num is None:
            raise ValueError(f"Cannot infer num from shape {value.shape}")
    count = num

    def infer(tensor: Tensor) -> Outputs:
        shape = tensor.shape
        if shape.rank is not None:
            dim = check_axis(axis, shape.rank, "axis = {axis} not in [{low}, {rank})")
            if shape[dim].value not in (None, count):
                raise ShapeConflict(f"Dimension must be {count} but is {shape[dim]}")
            shape = shape[:dim].concatenate(shape[dim + 1 :])
        return [(tensor.dtype.base_dtype, shape)] * count

    def kernel(x: Array) -> Array | tuple[Array, ...]:
        if not -x.ndim <= axis < x.ndim:
            fail(f"axis = {axis} not in [{-x.ndim}, {x.ndim})")
        if x.shape[axis] != count:
            fail(f"Input shape axis {axis} must equal {count}, got shape {bracketed(x.shape)}")
        return _outputs([np.take(x, index, axis) for index in range(count)])

    attrs = {"num": count, "axis": axis}
    op = apply_op("Unpack", [Input("value", value)], infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs


def concat(values: TensorLike, axis: TensorLike, name: str = "concat") -> Tensor:
    """Concatenates tensors along an axis.

    Args:
        values: A list of tensors.
        axis: The axis.
        name: Name of the operation.

    Raises:
        TypeError: If the types differ.
        ValueError: If other axes differ in size, or the axis does not exist.

    Examples:
        >>> join = hr.native(lambda example: {"y": hr.ops.concat([example["x"], [9]], axis=0)})
        >>> join({"x": np.array([1, 2])})
        {'y': array([1, 2, 9])}
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if not values:
        raise ValueError(
            "List argument 'values' to 'ConcatV2' Op with length 0 shorter than minimum length 2."
        )
    if len(values) == 1:
        with name_scope(name):
            dim = convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
            dim.shape.assert_is_compatible_with(scalar())
            return identity(values[0], name=name)
    inputs: list[Input | InputList] = [
        InputList("values", values),
        Input("axis", axis, var="Tidx", allowed=INDEX_TYPES, default=dtypes.int32),
    ]
    attrs = {"N": len(values)}
    op = apply_op("ConcatV2", inputs, _infer_concat, name=name, attrs=attrs, kernel=_concat)
    return op.outputs[0]


def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: TensorLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Splits a tensor along an axis into several tensors.

    Args:
        value: The tensor.
        num_or_size_splits: The number of equal parts, an int, or the size of each part, an integer
            vector. One of the sizes can be -1. It is then computed from the rest.
        axis: The axis.
        num: The number of parts, if the static shape of the sizes is unknown.
        name: Name of the operation.

    Returns:
        A list of tensors.

    Raises:
        ValueError: If the parts do not fill the axis, or the number of parts is unknown.
    """
    if isinstance(num_or_size_splits, Dimension) and num_or_size_splits.value is not None:
        return _split_evenly(value, num_or_size_splits.value, axis, name)
    if isinstance(num_or_size_splits, (int, np.integer)):
        return _split_evenly(value, int(num_or_size_splits), axis, name)
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.shape.rank == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits!s}"
        )
    parts = sizes.shape[0].value if num is None else num
    if parts is None:
        raise ValueError(f"Cannot infer num from shape {num_or_size_splits!s}")

    def infer(tensor: Tensor, lengths: Tensor, dim: Tensor) -> Outputs:
        return _infer_split_by_sizes(tensor, lengths, dim, parts)

    def kernel(x: Array, lengths: Array, dim: Array) -> Array | tuple[Array, ...]:
        if lengths.shape != (parts,):
            fail(
                "size of the split_tensor must be 1-D and have the same elements as outputs got "
                f"{lengths.ndim} -D and {lengths.size} elements"
            )
        where = _split_axis(dim, x.ndim)
        checked_sizes = _check_sizes(lengths.tolist(), x.shape[where])
        return _outputs(np.split(x, np.cumsum(checked_sizes)[:-1], where))

    inputs = [
        Input("value", value),
        Input("size_splits", sizes, var="Tlen", allowed=INDEX_TYPES),
        Input("split_dim", axis, dtypes.int32),
    ]
    attrs = {"num_split": parts}
    return apply_op("SplitV", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs


def _outputs(arrays: list[Array]) -> Array | tuple[Array, ...]:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _infer_concat(*inputs: Tensor) -> Outputs:
    *tensors, axis = inputs
    dtype = tensors[0].dtype.base_dtype
    check_rank(axis.shape, 0)
    ranks = {tensor.shape.rank for tensor in tensors} - {None}
    if 0 in ranks:
        raise ShapeConflict("Can't concatenate scalars (use tf.stack instead)")
    dim = fold_scalar(axis)
    rank = min((rank for rank in ranks if rank is not None), default=None)
    if dim is None or rank is None:
        return [(dtype, unknown_shape(rank))]
    least = dim + 1 if dim >= 0 else -dim
    if rank < least:
        raise ShapeConflict(f"Shape must be at least rank {least} but is rank {rank}")
    dim %= rank
    before, after = unknown_shape(dim), unknown_shape(rank - dim - 1)
    length: int | None = 0
    for tensor in tensors:
        shape = (
            tensor.shape.merge_with(unknown_shape(rank))
            if tensor.shape.rank is None
            else (tensor.shape)
        )
        before = merge_shapes(before, shape[:dim])
        after = merge_shapes(after, shape[dim + 1 :])
        size = shape[dim].value
        length = None if length is None or size is None else length + size
    return [(dtype, before.concatenate([length]).concatenate(after))]


def _concat(*inputs: Array) -> Array:
    *arrays, axis = inputs
    first, dim = arrays[0], int(axis.item())
    if first.ndim == 0:
        fail("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
    if not -first.ndim <= dim < first.ndim:
        fail(
            "ConcatOp : Expected concatenating dimensions in the range "
            f"[{-first.ndim}, {first.ndim}), but got {dim}"
        )
    for index, array in enumerate(arrays):
        if array.ndim != first.ndim:
            fail(
                "ConcatOp : Ranks of all input tensors should match: shape[0] = "
                f"{bracketed(first.shape)} vs. shape[{index}] = {bracketed(array.shape)}"
            )
        if any(
            a != b and number != dim % first.ndim
            for number, (a, b) in enumerate(zip(array.shape, first.shape, strict=True))
        ):
            fail(
                f"ConcatOp : Dimensions of inputs should match: shape[0] = "
                f"{bracketed(first.shape)} vs. shape[{index}] = {bracketed(array.shape)}"
            )
    return np.concatenate(arrays, dim)


def _split_evenly(value: TensorLike, count: int, axis: TensorLike, name: str) -> list[Tensor]:
    if count < 1:
        raise ValueError(
            f"Attr 'num_split' of 'Split' Op passed {count} less than minimum 1. Split into "
            "at least one part."
        )

    def infer(dim: Tensor, tensor: Tensor) -> Outputs:
        return [(tensor.dtype.base_dtype, _share_of(tensor.shape, dim, count))] * count

    def kernel(dim: Array, x: Array) -> Array | tuple[Array, ...]:
        where = _split_axis(dim, x.ndim)
        if x.shape[where] % count:
            fail(
                "Number of ways to split should evenly divide the split dimension, but got "
                f"split_dim {where} (size = {x.shape[where]}) and num_split {count}"
            )
        return _outputs(np.split(x, count, where))

    inputs = [Input("split_dim", axis, dtypes.int32), Input("value", value)]
    attrs = {"num_split": count}
    return apply_op("Split", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs


def _share_of(shape: TensorShape, dim: Tensor, count: int) -> TensorShape:
    axis = fold_scalar(dim)
    if shape.rank is None or axis is None:
        return unknown_shape(shape.rank)
    text = "Dimension size, given by scalar input {axis} must be in range [{low}, {rank})"
    axis = check_axis(axis, shape.rank, text)
    sizes = shape.as_list()
    size = sizes[axis]
    if size is not None and size % count:
        raise ShapeConflict(
            f"Dimension size must be evenly divisible by {count} but is {size}\n\tNumber of ways "
            "to split should evenly divide the split dimension"
        )
    sizes[axis] = None if size is None else size // count
    return TensorShape(sizes)


def _infer_split_by_sizes(tensor: Tensor, lengths: Tensor, dim: Tensor, count: int) -> Outputs:
    dtype, shape, axis = tensor.dtype.base_dtype, tensor.shape, fold_scalar(dim)
    if shape.rank is None or axis is None:
        return [(dtype, unknown_shape(shape.rank))] * count
    text = "Dimension size, given by scalar input {axis} must be in range [{low}, {rank})"
    axis = check_axis(axis, shape.rank, text)
    sizes, static = shape.as_list(), fold(lengths)
    parts: list[int | None] = [None] * count
    if static is not None:
        parts = [None if size < 0 else size for size in static.tolist()]
        total = sizes[axis]
        if total is not None:
            parts = list(_complete_sizes(static.tolist(), total))
    return [(dtype, TensorShape([*sizes[:axis], part, *sizes[axis + 1 :]])) for part in parts]


def _split_axis(dim: Array, rank: int) -> int:
    axis = int(dim.item())
    if not -rank <= axis < rank:
        fail(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}")
    return axis


def _complete_sizes(sizes: list[int], total: int) -> list[int]:
    """Computes the size that is -1, while the graph is being built.

    Raises:
        ShapeConflict: If the sizes do not fill the axis.
    """
    if sizes.count(-1) > 1:
        raise ShapeConflict("size_splits can only have one -1")
    item = sum(size for size in sizes if size >= 0)
    fits = item <= total if -1 in sizes else item == total
    if min(sizes) < -1 or not fits:
        raise ShapeConflict(
            f"can't split axis of size {total} into pieces of size {bracketed(sizes)}"
        )
    return [total - item if size < 0 else size for size in sizes]


def _check_sizes(sizes: list[int], total: int) -> list[int]:
    """Computes the size that is -1, during a run."""
    if sizes.count(-1) > 1:
        fail("There can only be one -1 in the input.")
    for index, size in enumerate(sizes):
        if size < -1:
            fail(f"Split size at index {index} must be >= 0. Got: {size}")
    item = sum(size for size in sizes if size >= 0)
    if item > total if -1 in sizes else item != total:
        fail(
            "Determined shape must either match input shape along split_dim exactly if fully "
            "specified, or be less than the size of the input along split_dim if not fully "
            f"specified.  Got: {item}"
        )
    return [total - item if size < 0 else size for size in sizes]


def _sizes_of_concat(static: StaticValues, op: Operation) -> list[int | None] | None:
    sizes: list[int | None] = []
    for item in op.inputs[:-1]:
        part = static.sizes(item)
        if not isinstance(part, list):
            length = item.shape[0].value if item.shape.rank == 1 else None
            if length is None:
                return None
            part = [None] * length
        sizes += part
    return sizes


def _concat_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    *parts, axis = inputs
    dim = known_integers(axis.row)
    if dim is None or not all(part.is_batched for part in parts):
        return None
    moved = integers(moved_axis(dim[0]), axis.row.dtype)
    return made_again(op, [*[part.block for part in parts], moved])


def _split_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    axis, tensor = inputs
    moved = _moved(axis, tensor)
    return None if moved is None else made_again(op, [moved, tensor.block])


def _split_blocks_by_sizes(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    tensor, sizes, axis = inputs
    moved = None if sizes.is_batched else _moved(axis, tensor)
    return None if moved is None else made_again(op, [tensor.block, sizes.block, moved])


def _moved(axis: BlockInput, tensor: BlockInput) -> Tensor | None:
    dim = axes_over_blocks(axis.row, tensor.row.shape.rank)
    return None if dim is None else integers(dim, axis.row.dtype)


def _unpack_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    if inputs[0].row.shape.rank is None:  # The rank is unknown, so the axis cannot be checked.
        return None
    return made_again(op, [inputs[0].block], {"axis": moved_axis(op.attrs["axis"])})


define(
    "ConcatV2",
    computed=by_either,
    fold=fold_by_kernel,
    read_sizes=_sizes_of_concat,
    batch_rule=_concat_blocks,
)
define("Split", computed=by_either, batch_rule=_split_blocks)
define("SplitV", computed=by_either, batch_rule=_split_blocks_by_sizes)
define("Unpack", computed=by_either, batch_rule=_unpack_blocks)
