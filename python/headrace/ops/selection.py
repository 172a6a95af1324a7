"""Elements picked by indices, masks and conditions.

Source: `tf.gather`, `tf.boolean_mask`, `tf.where` and `tf.one_hot` of TensorFlow 1.15.
"""

import math
from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.graph import Tensor, name_scope
from headrace.memory import check_array
from headrace.ops.arguments import Input, apply_op
from headrace.ops.conversion import constant_value, convert_to_tensor
from headrace.ops.elementwise import NUMBERS
from headrace.ops.folding import fold_scalar
from headrace.ops.inference import ShapeConflict, merge_shapes
from headrace.ops.kernel import Array, fail
from headrace.shapes import TensorShape, bracketed, unknown_shape

__all__ = ["boolean_mask", "gather", "gather_nd", "one_hot", "where"]

_INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)
_MASKS: Final = (*NUMBERS, dtypes.bool)
_MAX_WHERE_RANK: Final = 8


def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """Returns the slices of a tensor that integers name.

    Args:
        params: The tensor.
        indices: The places along `axis`, an integer tensor of any shape. Unlike in Python,
            negative ones are out of range.
        validate_indices: Not used: indices are always checked.
        name: Name of the operation.
        axis: The axis to pick from; None for `batch_dims`.
        batch_dims: How many axes in front `params` and `indices` share.

    Returns:
        A tensor in which the axes of `indices` have taken the place of `axis`. A run with an index
        out of range ends with InvalidArgumentError.
    """
    axis = batch_dims if axis is None else axis
    inputs = [
        Input("params", params, var="Tparams"),
        Input("indices", indices, var="Tindices", allowed=_INDEX_TYPES),
        Input("axis", axis, var="Taxis", allowed=_INDEX_TYPES, default=dtypes.int32),
    ]

    def infer(source: Tensor, places: Tensor, where: Tensor) -> Any:
        shape = _infer_gather(source.shape, places.shape, fold_scalar(where), batch_dims)
        return [(source.dtype.base_dtype, shape)]

    def kernel(source: Array, places: Array, where: Array) -> Any:
        return _gather(source, places, int(where.item()), batch_dims)

    attrs = {"batch_dims": batch_dims}
    # The engine picks rows itself: producers of slices do that for each example.
    is_native = isinstance(axis, int) and axis == batch_dims == 0
    op = apply_op(
        "GatherV2", inputs, infer, name=name, attrs=attrs, kernel=None if is_native else kernel
    )
    return op.outputs[0]


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Returns the slices of a tensor that rows of integers name.

    Args:
        params: The tensor.
        indices: Its last axis holds one index for each of the first axes of `params`.
        name: Name of the operation.
        batch_dims: How many axes in front `params` and `indices` share.

    Returns:
        A tensor in which the slices have taken the place of the last axis of `indices`. A run with
        an index out of range ends with InvalidArgumentError.

    Raises:
        ValueError: If the last axis of `indices` is longer than `params` has axes.
    """
    inputs = [
        Input("params", params, var="Tparams"),
        Input("indices", indices, var="Tindices", allowed=_INDEX_TYPES),
    ]

    def infer(source: Tensor, rows: Tensor) -> Any:
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
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """Returns the slices of a tensor where a mask is true.

    Args:
        tensor: The tensor.
        mask: Bools, or numbers that count as true unless zero; its shape is that of the first axes
            of `tensor`, counted from `axis`. Its rank must be known.
        name: Name of the scope of the operation.
        axis: Where the mask begins; None for 0.

    Returns:
        A tensor in which one axis, of a size not known before the run, has taken the place of those
        of the mask.

    Raises:
        ValueError: If the mask is a scalar, has no known rank, or its shape does not fit.
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
        first = _first_axis(axis)
        shape = tensor.shape
        if shape.rank is not None:
            shape[first : first + rank].assert_is_compatible_with(mask.shape)
            result = shape[:first].concatenate([None]).concatenate(shape[first + rank :])
        else:
            result = unknown_shape()

        def infer(source: Tensor, _: Tensor) -> Any:
            return [(source.dtype.base_dtype, result)]

        def kernel(source: Array, wanted: Array) -> Any:
            # As in TensorFlow, only the number of elements of the masked axes counts in a run.
            before, after = source.shape[:first], source.shape[first + wanted.ndim :]
            length = math.prod(source.shape[first : first + wanted.ndim])
            flat = source.reshape(*before, length, *after)
            return _gather(flat, np.flatnonzero(wanted), first, 0)

        inputs = [Input("tensor", tensor), Input("mask", mask, var="Tmask", allowed=_MASKS)]
        # Its name is that of the last of the operations of which TensorFlow makes it.
        return apply_op("BooleanMask", inputs, infer, name="GatherV2", kernel=kernel).outputs[0]


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Returns where a condition is true, or picks from one of two tensors.

    Args:
        condition: Bools. With `x` and `y` it has their shape, or is a scalar, or a vector that
            picks whole rows.
        x: What to take where the condition is true.
        y: What to take where it is false.
        name: Name of the operation.

    Returns:
        Without `x` and `y` the int64 indices of the true elements, one row each; else a tensor like
        `x` and `y`.

    Raises:
        ValueError: If only one of `x` and `y` is given, or shapes differ.
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        with name_scope(name, "Where", [condition]) as scope:
            tensor = convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")
            inputs = [Input("input", tensor, allowed=_MASKS)]
            op = apply_op("Where", inputs, _infer_where, name=scope, kernel=_find_true)
            return op.outputs[0]
    inputs = [Input("condition", condition, dtypes.bool), Input("t", x), Input("e", y)]
    return apply_op("Select", inputs, _infer_select, name=name, kernel=_select).outputs[0]


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns a tensor with a new axis that holds one value at the index and another elsewhere.

    Args:
        indices: Where to put `on_value`; outside of [0, depth) nowhere.
        depth: The size of the new axis.
        on_value: The value at the index; None for 1.
        off_value: The value elsewhere; None for 0.
        axis: Where the new axis will be; None for the end.
        dtype: Type of the result; None for that of the values, or float32.
        name: Name of the operation.

    Raises:
        TypeError: If the types of the values do not fit.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        on = None if on_value is None else convert_to_tensor(on_value)
        off = None if off_value is None else convert_to_tensor(off_value)
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        for tensor, what in ((on, "on_value"), (off, "off_value")):
            if tensor is not None and wanted not in (None, tensor.dtype.base_dtype):
                raise TypeError(
                    f"dtype {tensor.dtype} of {what} does not match dtype parameter {wanted}"
                )
        given = on if on is not None else off
        kind = wanted or (dtypes.float32 if given is None else given.dtype.base_dtype)
        on = convert_to_tensor(1, kind, name="on_value") if on is None else on
        off = convert_to_tensor(0, kind, name="off_value") if off is None else off
        if on.dtype.base_dtype != off.dtype.base_dtype:
            raise TypeError(
                f"dtype {on.dtype.base_dtype} of on_value does not match dtype "
                f"{off.dtype.base_dtype} of off_value"
            )
        place = -1 if axis is None else axis
        inputs = [
            Input("indices", indices, var="TI", allowed=(dtypes.uint8, *_INDEX_TYPES)),
            Input("depth", depth, dtypes.int32),
            Input("on_value", on),
            Input("off_value", off),
        ]

        def infer(positions: Tensor, size: Tensor, value: Tensor, _: Tensor) -> Any:
            return [(value.dtype.base_dtype, _infer_one_hot(positions.shape, size, place))]

        def kernel(positions: Array, size: Array, hot: Array, cold: Array) -> Any:
            if place > positions.ndim:
                fail(
                    f"Expected axis to be -1 or between [0, {positions.ndim + 1}).  But received: "
                    f"{place}"
                )
            for value, what in ((size, "depth"), (hot, "on_value"), (cold, "off_value")):
                if value.ndim:
                    fail(f"{what} must be a scalar, but got: {bracketed(value.shape)}")
            if size < 0:
                fail(f"depth must be non-negative, got: {size}")
            front = place if place >= 0 else positions.ndim
            check_array([*positions.shape, int(size)], hot.dtype)
            check_array([int(size)], np.int64)
            steps = np.arange(int(size)).reshape((-1,) + (1,) * (positions.ndim - front))
            return np.where(np.expand_dims(positions, front) == steps, hot, cold)

        attrs = {"axis": place}
        op = apply_op("OneHot", inputs, infer, name=scope, attrs=attrs, kernel=kernel)
        return op.outputs[0]


def _first_axis(axis: Any) -> int:
    if isinstance(axis, Tensor):
        axis = constant_value(axis)
    return 0 if axis is None else int(axis)


def _infer_gather(
    source: TensorShape, places: TensorShape, axis: int | None, batch_dims: int
) -> TensorShape:
    if source.rank is None or places.rank is None:
        return unknown_shape()
    if axis is None:
        return unknown_shape(max(source.rank - 1 + places.rank - batch_dims, 0))
    least = axis + 1 if axis >= 0 else -axis
    if source.rank < least:
        raise ShapeConflict(f"Shape must be at least rank {least} but is rank {source.rank}")
    axis %= source.rank
    return source[:axis].concatenate(places[batch_dims:]).concatenate(source[axis + 1 :])


def _gather(source: Array, places: Array, axis: int, batch_dims: int) -> Any:
    if source.ndim == 0:
        fail("params must be at least 1 dimensional")
    if not -source.ndim <= axis < source.ndim:
        fail(f"Expected axis in the range [{-source.ndim}, {source.ndim}), but got {axis}")
    axis %= source.ndim
    limit = source.shape[axis]
    bad = (places < 0) | (places >= limit)
    if bad.any():
        where = np.argwhere(bad)[0]
        at = f"[{','.join(map(str, where))}]" if places.ndim else ""
        fail(f"indices{at} = {places[tuple(where)]} is not in [0, {limit})")
    check_array(
        source.shape[:axis] + places.shape[batch_dims:] + source.shape[axis + 1 :], source.dtype
    )
    if batch_dims == 0:
        return np.take(source, places, axis)
    pairs = zip(source, places, strict=True)
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


def _find_true(condition: Array) -> Any:
    if not 1 <= condition.ndim <= _MAX_WHERE_RANK:
        fail(f"WhereOp : Unhandled input dimensions: {condition.ndim}")
    return np.argwhere(condition)


def _infer_where(condition: Tensor) -> Any:
    return [(dtypes.int64, TensorShape([None, condition.shape.rank]))]


def _infer_select(condition: Tensor, x: Tensor, y: Tensor) -> Any:
    shape = merge_shapes(x.shape, y.shape)
    rows = condition.shape
    if shape.rank is not None and rows.rank not in (None, 0):
        if rows.rank == 1 and shape.rank > 1:
            merge_shapes(rows, shape[:1])
        else:
            shape = merge_shapes(rows, shape)
    return [(x.dtype.base_dtype, shape)]


def _select(condition: Array, x: Array, y: Array) -> Any:
    picks_rows = condition.ndim == 1 and x.ndim != 1
    if condition.ndim and not picks_rows:
        for place, array in ((1, x), (2, y)):
            if array.shape != condition.shape:
                fail(
                    "Inputs to operation Select of type Select must have the same size and shape.  "
                    f"Input 0: {bracketed(condition.shape)} != input {place}: "
                    f"{bracketed(array.shape)}"
                )
    if x.shape != y.shape:
        fail(
            "'then' and 'else' must have the same size.  but received: "
            f"{bracketed(x.shape)} vs. {bracketed(y.shape)}"
        )
    if picks_rows:
        if x.ndim == 0:
            fail("'then' must be at least a vector, but saw shape: []")
        if len(condition) != len(x):
            fail(
                "Number of batches of 'then' must match size of 'cond', but saw: "
                f"{len(x)} vs. {len(condition)}"
            )
        condition = condition.reshape(condition.shape + (1,) * (x.ndim - 1))
    return np.where(condition, x, y)


def _infer_one_hot(shape: TensorShape, depth: Tensor, axis: int) -> TensorShape:
    if axis < -1:
        raise ShapeConflict("axis must be >= -1")
    if depth.shape.rank not in (None, 0):
        raise ShapeConflict(f"Input must be scalar but has rank {depth.shape.rank}")
    size = fold_scalar(depth)
    if size is not None and size < 0:
        raise ShapeConflict(
            f"Dimension size, given by scalar input 1, must be non-negative but is {size}"
        )
    if shape.rank is None:
        return unknown_shape()
    place = axis % (shape.rank + 1)  # too large an axis is for the run to refuse
    return shape[:place].concatenate([size]).concatenate(shape[place:])
