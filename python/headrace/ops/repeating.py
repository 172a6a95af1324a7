"""Repeating, padding, reversing and rolling tensors along their axes.

Source: `tf.tile`, `tf.pad`, `tf.reverse` and `tf.roll` of TensorFlow 1.15.
"""

from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.graph import Tensor
from headrace.memory import check_array
from headrace.ops.arguments import Input, apply_op
from headrace.ops.conversion import constant_value_as_shape
from headrace.ops.folding import fold
from headrace.ops.inference import ShapeConflict, check_axis, check_rank, merge_shapes
from headrace.ops.kernel import Array, fail
from headrace.shapes import TensorShape, bracketed, unknown_shape

__all__ = ["pad", "reverse", "reverse_v2", "roll", "tile"]

_INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Returns a tensor repeated along its axes.

    Args:
        input: The tensor.
        multiples: How often along each axis, an integer vector.
        name: Name of the operation.

    Raises:
        ValueError: If there is not one multiple an axis.
    """
    inputs = [
        Input("input", input),
        Input("multiples", multiples, var="Tmultiples", allowed=_INDEX_TYPES, default=dtypes.int32),
    ]

    def kernel(x: Array, times: Array) -> Any:
        if times.size != x.ndim:
            fail(
                f"Expected multiples argument to be a vector of length {x.ndim} but got length "
                f"{times.size}"
            )
        for axis, factor in enumerate(times.tolist()):
            if factor < 0:
                fail(f"Expected multiples[{axis}] >= 0, but got {factor}")
        sizes = [size * factor for size, factor in zip(x.shape, times.tolist(), strict=True)]
        check_array(sizes, x.dtype)
        return np.tile(x, times)

    return apply_op("Tile", inputs, _infer_tile, name=name, kernel=kernel).outputs[0]


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """Returns a tensor with more elements before and after along each axis.

    Args:
        tensor: The tensor.
        paddings: How many before and after, an integer matrix with a row for each axis.
        mode: "CONSTANT", "REFLECT" (mirrored without the edge) or "SYMMETRIC" (with the edge).
        name: Name of the operation.
        constant_values: What to add in constant mode, a scalar.

    Raises:
        ValueError: If there is no such mode, or not one row an axis.
    """
    mode = mode.upper()
    numpy_mode = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}.get(mode)
    if numpy_mode is None:
        raise ValueError(f"Unknown padding mode: {mode}")
    inputs = [
        Input("input", tensor),
        Input("paddings", paddings, var="Tpaddings", allowed=_INDEX_TYPES, default=dtypes.int32),
    ]

    def kernel(x: Array, amounts: Array, *fill: Array) -> Any:
        if amounts.ndim != 2 or amounts.shape[1] != 2:
            fail(f"paddings must be a matrix with 2 columns: {bracketed(amounts.shape)}")
        if fill and fill[0].ndim:
            fail(f"constant_values must be a scalar. Found: {bracketed(fill[0].shape)}")
        if len(amounts) != x.ndim:
            fail(
                "The first dimension of paddings must be the rank of inputs"
                f"{bracketed(amounts.shape)} {bracketed(x.shape)}"
            )
        for before, after in amounts.tolist():
            if before < 0 or after < 0:
                fail(f"Paddings must be non-negative: {before} {after}")
        if x.ndim == 0:
            return x
        sizes = [size + sum(row) for size, row in zip(x.shape, amounts.tolist(), strict=True)]
        check_array(sizes, x.dtype)
        if numpy_mode != "constant":
            _check_mirror(x, amounts, mode)
            return np.pad(x, amounts, mode=numpy_mode)  # type: ignore[call-overload]
        zero = b"" if x.dtype == object else 0
        value = fill[0].item() if fill else zero
        return np.pad(x, amounts, constant_values=value)

    is_zero = isinstance(constant_values, (int, float)) and constant_values == 0
    attrs: dict[str, Any] = {}
    if mode != "CONSTANT":
        op_type, attrs = "MirrorPad", {"mode": mode}
    elif is_zero:
        op_type = "Pad"
    else:
        op_type = "PadV2"
        inputs.append(Input("constant_values", constant_values))
    return apply_op(op_type, inputs, _infer_pad, name=name, attrs=attrs, kernel=kernel).outputs[0]


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with the order along some axes reversed.

    Args:
        tensor: The tensor.
        axis: The axes, an integer vector.
        name: Name of the operation.

    Raises:
        ValueError: If there is no such axis or one is named twice.
    """
    inputs = [
        Input("tensor", tensor),
        Input("axis", axis, var="Tidx", allowed=_INDEX_TYPES, default=dtypes.int32),
    ]

    def infer(x: Tensor, axes: Tensor) -> Any:
        check_rank(axes.shape, 1)
        known = fold(axes)
        if known is not None and x.shape.rank is not None:
            _check_axes(known.tolist(), x.shape.rank)
        return [(x.dtype.base_dtype, x.shape)]

    def kernel(x: Array, axes: Array) -> Any:
        if axes.ndim != 1:
            fail(f"'dims' must be 1-dimension, not {axes.ndim}")
        try:
            _check_axes(axes.tolist(), x.ndim)
        except ShapeConflict as conflict:
            fail(str(conflict))
        return np.flip(x, tuple(axes.tolist()))

    return apply_op("ReverseV2", inputs, infer, name=name, kernel=kernel).outputs[0]


reverse_v2 = reverse


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with elements moved along axes; what leaves at one end enters at the other.

    Args:
        input: The tensor, of rank 1 or more.
        shift: How far to move towards larger indices, an integer scalar or vector.
        axis: The axis for each shift; an axis named twice is moved twice.
        name: Name of the operation.

    Returns:
        A tensor of the same shape. A run in which there is no such axis ends with
        InvalidArgumentError.

    Raises:
        ValueError: If `shift` and `axis` differ in shape, or `input` is a scalar.
    """
    inputs = [
        Input("input", input),
        Input("shift", shift, var="Tshift", allowed=_INDEX_TYPES),
        Input("axis", axis, var="Taxis", allowed=_INDEX_TYPES),
    ]

    def infer(x: Tensor, by: Tensor, along: Tensor) -> Any:
        if x.shape.rank == 0:
            raise ShapeConflict("Shape must be at least rank 1 but is rank 0")
        merge_shapes(by.shape, along.shape)
        return [(x.dtype.base_dtype, x.shape)]

    def kernel(x: Array, by: Array, along: Array) -> Any:
        if x.ndim == 0:
            fail("input must be 1-D or higher")
        if by.shape != along.shape:
            fail("shift and axis must have the same size")
        for place in along.ravel().tolist():
            if not -x.ndim <= place < x.ndim:
                fail(f"axis {place} is out of range")
        return np.roll(x, by.ravel().tolist(), along.ravel().tolist())

    return apply_op("Roll", inputs, infer, name=name, kernel=kernel).outputs[0]


def _check_mirror(x: Array, amounts: Array, mode: str) -> None:
    is_reflect = mode == "REFLECT"
    for size, (before, after) in zip(x.shape, amounts.tolist(), strict=True):
        limit = size - 1 if is_reflect else size
        if max(before, after) > limit:
            words = ("less than", "not less than")
            words = words if is_reflect else ("no greater than", "greater than")
            fail(
                f"paddings must be {words[0]} the dimension size: {before}, {after} {words[1]} "
                f"{size}"
            )


def _infer_tile(tensor: Tensor, multiples: Tensor) -> Any:
    check_rank(multiples.shape, 1)
    times = constant_value_as_shape(multiples)
    rank = times.rank if tensor.shape.rank is None else tensor.shape.rank
    if rank is None or tensor.shape.rank is None or times.rank is None:
        return [(tensor.dtype.base_dtype, unknown_shape(rank))]
    check_rank(times, tensor.shape.rank)
    sizes = [size * factor for size, factor in zip(tensor.shape, times, strict=True)]
    return [(tensor.dtype.base_dtype, TensorShape(sizes))]


def _infer_pad(tensor: Tensor, paddings: Tensor, *_: Tensor) -> Any:
    check_rank(paddings.shape, 2)
    rank, columns = (size.value for size in paddings.shape.with_rank(2))
    if columns not in (None, 2):
        raise ShapeConflict(f"Dimension must be 2 but is {columns}")
    if rank is not None:
        check_rank(tensor.shape, rank)
    amounts, shape = fold(paddings), tensor.shape
    if amounts is None or shape.rank is None:
        return [(tensor.dtype.base_dtype, unknown_shape(rank or shape.rank))]
    if (amounts < 0).any():
        raise ShapeConflict("Paddings must be non-negative")
    sizes = [size + int(row.sum()) for size, row in zip(shape, amounts, strict=True)]
    return [(tensor.dtype.base_dtype, TensorShape(sizes))]


def _check_axes(axes: list[int], rank: int) -> None:
    seen = set()
    for place, axis in enumerate(axes):
        text = f"'axis'[{place}] = {axis} is out of valid range [0, {rank - 1}"
        front = check_axis(axis, rank, text)
        if front in seen:
            raise ShapeConflict(f"axis {front} specified more than once.")
        seen.add(front)
