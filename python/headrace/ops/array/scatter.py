"""Writing slices to positions that are given as tensors.

Source: `tf.scatter_nd`, `tf.tensor_scatter_update`, `tf.tensor_scatter_add` and
`tf.tensor_scatter_sub` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import constant_value_as_shape
from headrace.ops.framework.inference import ShapeConflict
from headrace.ops.framework.kernel import Array, fail

__all__ = ["scatter_nd", "tensor_scatter_add", "tensor_scatter_sub", "tensor_scatter_update"]


def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: TensorLike, name: str | None = None
) -> Tensor:
    """Returns a tensor of zeros to which slices are added at the given indices.

    Args:
        indices: The positions: index tuples along the last axis.
        updates: The slices, one per tuple: numbers or bools. Slices for the same position are added
            up.
        shape: The shape of the result, with the same type as `indices`.
        name: Name of the operation.

    Returns:
        The tensor.

    Raises:
        InvalidArgumentError: At run time, if an index is out of range.
        ValueError: If the shapes do not match.
    """

    def infer(indices: Tensor, slices: Tensor, size: Tensor) -> Outputs:
        result_shape = constant_value_as_shape(size)
        check_shapes(result_shape, indices.shape, slices.shape)
        return [(slices.dtype.base_dtype, result_shape)]

    def kernel(indices: Array, slices: Array, size: Array) -> Array:
        sizes = [int(number) for number in size.ravel()]
        if any(number < 0 for number in sizes):
            fail(f"Shape {sizes} must not have negative sizes")
        check_array(sizes, slices.dtype)
        target = np.zeros(sizes, dtype=slices.dtype)
        if target.dtype == object:
            target.fill(b"")
        return _scattered(target, indices, slices, "add")

    inputs = [
        Input("indices", indices, var="Tindices", allowed=INDEX_TYPES),
        Input("updates", updates),
        Input("shape", shape, var="Tindices"),
    ]
    return apply_op("ScatterNd", inputs, infer, name=name, kernel=kernel).outputs[0]


def tensor_scatter_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Replaces the slices of a tensor at the given indices.

    Args:
        tensor: The tensor.
        indices: The positions: index tuples along the last axis.
        updates: The new slices, one per tuple. If several have the same position, the last one is
            used.
        name: Name of the operation.

    Returns:
        The changed tensor.

    Raises:
        InvalidArgumentError: At run time, if an index is out of range.
        ValueError: If the shapes do not match.
    """
    return _scatter("TensorScatterUpdate", tensor, indices, updates, name, "set")


def tensor_scatter_add(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Adds slices at the given indices. See `tensor_scatter_update` for the arguments."""
    return _scatter("TensorScatterAdd", tensor, indices, updates, name, "add")


def tensor_scatter_sub(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Subtracts slices at the given indices. See `tensor_scatter_update` for the arguments."""
    return _scatter("TensorScatterSub", tensor, indices, updates, name, "subtract")


def _scatter(
    op_type: str,
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    name: str | None,
    how: str,
) -> Tensor:
    def infer(target: Tensor, indices: Tensor, slices: Tensor) -> Outputs:
        check_shapes(target.shape, indices.shape, slices.shape)
        return [(target.dtype.base_dtype, target.shape)]

    def kernel(target: Array, indices: Array, slices: Array) -> Array:
        return _scattered(target.copy(), indices, slices, how)

    inputs = [
        Input("tensor", tensor),
        Input("indices", indices, var="Tindices", allowed=INDEX_TYPES),
        Input("updates", updates),
    ]
    return apply_op(op_type, inputs, infer, name=name, kernel=kernel).outputs[0]


def check_shapes(target: TensorShape, indices: TensorShape, slices: TensorShape) -> None:
    """Raises ShapeConflict if the shapes of slices and indices do not match the tensor."""
    if indices.rank == 0:
        raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
    if indices.rank is None or slices.rank is None:
        return
    depth = indices[-1].value
    if not indices[:-1].is_compatible_with(slices[: indices.rank - 1]):
        raise ShapeConflict(
            f"Dimensions [0,{indices.rank - 1}) of indices[shape={bracketed(indices)}] must match "
            f"dimensions [0,{indices.rank - 1}) of updates[shape={bracketed(slices)}]"
        )
    if depth is None or target.rank is None:
        return
    if depth > target.rank or not target[depth:].is_compatible_with(slices[indices.rank - 1 :]):
        raise ShapeConflict(
            f"Dimensions [{depth},{target.rank}) of input[shape={bracketed(target)}] must match "
            f"dimensions [{indices.rank - 1},{slices.rank}) of updates[shape={bracketed(slices)}]"
        )


def _scattered(target: Array, indices: Array, slices: Array, how: str) -> Array:
    """Returns a changed copy of `target`."""
    try:
        check_shapes(*[TensorShape(array.shape) for array in (target, indices, slices)])
    except ShapeConflict as conflict:
        fail(str(conflict))
    depth = indices.shape[-1]
    front, rest = target.shape[:depth], target.shape[depth:]
    rows = indices.reshape(-1, depth)
    wrong = np.flatnonzero(((rows < 0) | (rows >= np.array(front, dtype=np.int64))).any(axis=1))
    if wrong.size:
        where = np.unravel_index(wrong[0], indices.shape[:-1]) if indices.ndim > 1 else ()
        text = ", ".join(str(int(number)) for number in where)
        index_text = ", ".join(map(str, rows[wrong[0]].tolist()))
        fail(
            f"indices[{text}] = [{index_text}] does not index into shape {bracketed(target.shape)}"
        )
    numbers = np.ravel_multi_index(tuple(rows.T), front) if depth else np.zeros(len(rows), np.int64)
    flat = target.reshape(-1, *rest)
    updates = slices.reshape(-1, *rest)
    if how == "set":
        flat[numbers] = updates
    else:
        function: Any = np.add if how == "add" else np.subtract
        if target.dtype == np.bool_:
            function = np.logical_or
        function.at(flat, numbers, updates)
    return flat.reshape(target.shape)


define("ScatterNd")
define("TensorScatterAdd")
define("TensorScatterSub")
define("TensorScatterUpdate")
