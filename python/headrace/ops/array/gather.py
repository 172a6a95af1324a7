"""Selecting elements by indices and masks.

Source: `tf.gather`, `tf.gather_nd` and `tf.boolean_mask` in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, bracketed, unknown_shape
from headrace.graph import KernelKind, Operation, Tensor, TensorLike, define, name_scope
from headrace.ops.array.where import _MASKS
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import BlockInput, along_axis, known_integers, made_again
from headrace.ops.framework.conversion import constant_value, convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold_scalar
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import Array, fail

__all__ = ["boolean_mask", "gather", "gather_nd"]


def gather(
    params: TensorLike,
    indices: TensorLike,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Returns the slices of a tensor at the given indices.

    Args:
        params: The tensor.
        indices: The positions along `axis`, an integer tensor of any shape. Unlike in Python,
            negative indices are invalid.
        axis: The axis to select from. Defaults to `batch_dims`.
        batch_dims: The number of leading axes that `params` and `indices` have in common.
        name: Name of the operation.

    Returns:
        A tensor in which the axes of `indices` replace `axis`.

    Raises:
        InvalidArgumentError: At run time, if an index is out of range.

    Examples:
        >>> pick = hr.native(lambda example: {"y": hr.ops.gather(example["x"], [2, 0])})
        >>> pick({"x": np.array([10, 20, 30])})
        {'y': array([30, 10])}
    """
    axis = batch_dims if axis is None else axis
    inputs = [
        Input("params", params, var="Tparams"),
        Input("indices", indices, var="Tindices", allowed=INDEX_TYPES),
        Input("axis", axis, var="Taxis", allowed=INDEX_TYPES, default=dtypes.int32),
    ]

    def infer(source: Tensor, indices: Tensor, where: Tensor) -> Outputs:
        shape = _infer_gather(source.shape, indices.shape, fold_scalar(where), batch_dims)
        return [(source.dtype.base_dtype, shape)]

    def kernel(source: Array, indices: Array, where: Array) -> Array:
        return _gather(source, indices, int(where.item()), batch_dims)

    attrs = {"batch_dims": batch_dims}
    # The engine selects rows itself, because producers of slices do that for each example.
    static = constant_value(axis) if isinstance(axis, Tensor) else axis
    is_native = static is not None and static == batch_dims == 0
    op = apply_op(
        "GatherV2", inputs, infer, name=name, attrs=attrs, kernel=None if is_native else kernel
    )
    return op.outputs[0]


def gather_nd(
    params: TensorLike, indices: TensorLike, batch_dims: int = 0, name: str | None = None
) -> Tensor:
    """Returns the slices of a tensor at the given index tuples.

    Args:
        params: The tensor.
        indices: The index tuples, along the last axis. A tuple contains an index for each of the
            first axes of `params`.
        batch_dims: The number of leading axes that `params` and `indices` share.
        name: Name of the operation.

    Returns:
        A tensor in which the slices replace the last axis of `indices`.

    Raises:
        InvalidArgumentError: At run time, if an index is out of range.
        ValueError: If the last axis of `indices` is longer than the rank of `params`.
    """
    inputs = [
        Input("params", params, var="Tparams"),
        Input("indices", indices, var="Tindices", allowed=INDEX_TYPES),
    ]

    def infer(source: Tensor, rows: Tensor) -> Outputs:
        if rows.shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        depth = rows.shape[-1].value if rows.shape.rank else None
        if depth is None or source.shape.rank is None:
            return [(source.dtype.base_dtype, unknown_shape())]
        if depth + batch_dims > source.shape.rank:
            raise ShapeConflict(
                "indices.shape[-1] must be <= params.rank, but saw indices shape: "
                f"{bracketed(rows.shape)} and params shape: {bracketed(source.shape)}"
            )
        shape = rows.shape[:-1].concatenate(source.shape[batch_dims + depth :])
        return [(source.dtype.base_dtype, shape)]

    def kernel(source: Array, rows: Array) -> Any:
        return _gather_rows(source, rows, batch_dims)

    return apply_op("GatherNd", inputs, infer, name=name, kernel=kernel).outputs[0]


def boolean_mask(
    tensor: TensorLike,
    mask: TensorLike,
    axis: int | Tensor | None = None,
    name: str = "boolean_mask",
) -> Tensor:
    """Returns the slices of a tensor for which a mask is true.

    Args:
        tensor: The tensor.
        mask: Bools, or numbers, of which all except 0 count as true. The rank must be known. The
            shape must match the axes of `tensor` from `axis` onwards.
        axis: The first axis to which the mask applies. Defaults to 0.
        name: Name of the scope.

    Returns:
        A tensor in which one axis replaces the axes of the mask. Its size depends on the mask.

    Raises:
        ValueError: If the mask is a scalar, its rank is unknown, or its shape does not match.

    Examples:
        >>> keep = hr.native(lambda one: {"y": hr.ops.boolean_mask(one["x"], one["x"] > 1)})
        >>> keep({"x": np.array([1, 2, 3])})
        {'y': array([2, 3])}
    """
    with name_scope(name, values=[tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        rank = mask.shape.rank
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if rank is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        # TensorFlow uses several operations here. This operation has the name of the last one.
        return masked(tensor, mask, _first_axis(axis), name="GatherV2")


def masked(tensor: Tensor, mask: Tensor, axis: int, name: str | None = None) -> Tensor:
    """Adds the `boolean_mask` operation. The mask's rank must be known and not 0."""
    rank, shape, result = mask.shape.rank, tensor.shape, unknown_shape()
    if rank is not None and shape.rank is not None:
        shape[axis : axis + rank].assert_is_compatible_with(mask.shape)
        result = shape[:axis].concatenate([None]).concatenate(shape[axis + rank :])

    def infer(source: Tensor, _: Tensor) -> Outputs:
        return [(source.dtype.base_dtype, result)]

    def kernel(source: Array, mask: Array) -> Array:
        # As in TensorFlow, a run compares only the total number of elements in the masked axes.
        before, after = source.shape[:axis], source.shape[axis + mask.ndim :]
        length = math.prod(source.shape[axis : axis + mask.ndim])
        flat = source.reshape(*before, length, *after)
        return _gather(flat, np.flatnonzero(mask), axis, 0)

    inputs = [Input("tensor", tensor), Input("mask", mask, var="Tmask", allowed=_MASKS)]
    attrs = {"axis": axis}
    op = apply_op("BooleanMask", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _first_axis(axis: int | Tensor | None) -> int:
    static = constant_value(axis) if isinstance(axis, Tensor) else axis
    return 0 if static is None else int(static)


def _infer_gather(
    source: TensorShape, indices: TensorShape, axis: int | None, batch_dims: int
) -> TensorShape:
    if source.rank is None or indices.rank is None:
        return unknown_shape()
    if axis is None:
        return unknown_shape(max(source.rank - 1 + indices.rank - batch_dims, 0))
    least = axis + 1 if axis >= 0 else -axis
    if source.rank < least:
        raise ShapeConflict(f"Shape must be at least rank {least} but is rank {source.rank}")
    axis %= source.rank
    return source[:axis].concatenate(indices[batch_dims:]).concatenate(source[axis + 1 :])


def _gather(source: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    if source.ndim == 0:
        fail("params must be at least 1 dimensional")
    if not -source.ndim <= axis < source.ndim:
        fail(f"Expected axis in the range [{-source.ndim}, {source.ndim}), but got {axis}")
    axis %= source.ndim
    limit = source.shape[axis]
    bad = (indices < 0) | (indices >= limit)
    if bad.any():
        where = np.argwhere(bad)[0]
        at = f"[{','.join(map(str, where))}]" if indices.ndim else ""
        fail(f"indices{at} = {indices[tuple(where)]} is not in [0, {limit})")
    check_array(
        source.shape[:axis] + indices.shape[batch_dims:] + source.shape[axis + 1 :], source.dtype
    )
    if batch_dims == 0:
        return np.take(source, indices, axis)
    pairs = zip(source, indices, strict=True)
    return np.stack([_gather(part, row, axis - 1, batch_dims - 1) for part, row in pairs])


def _gather_rows(source: Array, rows: Array, batch_dims: int) -> Any:
    if batch_dims:
        pairs = zip(source, rows, strict=True)
        return np.stack([_gather_rows(part, row, batch_dims - 1) for part, row in pairs])
    depth = rows.shape[-1]
    if depth > source.ndim:
        fail(
            "index innermost dimension length must be <= params rank; saw: "
            f"{depth} vs. {source.ndim}"
        )
    check_array(rows.shape[:-1] + source.shape[depth:], source.dtype)
    limits = source.shape[:depth]
    bad = np.argwhere(((rows < 0) | (rows >= limits)).any(axis=-1))
    if bad.size:
        where = tuple(bad[0])
        index = ", ".join(map(str, rows[where].tolist()))
        fail(
            f"indices[{','.join(map(str, where))}] = [{index}] does not index into param shape "
            f"{bracketed(source.shape)}"
        )
    if depth == 0:
        return np.broadcast_to(source, rows.shape[:-1] + source.shape)
    return source[tuple(np.moveaxis(rows, -1, 0))]


def _masked_by(op: Operation) -> KernelKind:
    """Allows either kernel for real numbers and non-negative axes, and only NumPy otherwise."""
    is_simple = op.attrs["axis"] >= 0 and not op.inputs[1].dtype.is_complex
    return KernelKind.BY_EITHER if is_simple else KernelKind.BY_NUMPY


define("BooleanMask", computed=_masked_by)
define("GatherNd")


def _gather_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    params, indices, axis = inputs
    if op.attrs["batch_dims"] != 0:
        return None
    if params.is_batched:
        return along_axis(op, inputs)
    # All rows use the same table.
    is_table = known_integers(axis.row) == [0]
    return made_again(op, [params.block, indices.block, axis.block]) if is_table else None


def _gathered_by(op: Operation) -> KernelKind:
    if op.kernel is None:
        return KernelKind.BY_ENGINE
    return KernelKind.BY_EITHER if op.attrs["batch_dims"] == 0 else KernelKind.BY_NUMPY


define("GatherV2", computed=_gathered_by, batch_rule=_gather_blocks)
