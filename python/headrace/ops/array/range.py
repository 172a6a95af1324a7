"""Sequences of numbers.

Source: `tf.range` and `tf.lin_space` in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import vector
from headrace.graph import KernelKind, Operation, Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES, REALS
from headrace.ops.framework.folding import fold, fold_by_kernel, fold_scalar
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail
from headrace.ops.math.cast import cast

__all__ = ["linspace", "range"]

# If the arguments have different types, the range has the last of these types.
_HIERARCHY: Final = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """Returns numbers from `start` up to, but not including, `limit`.

    Args:
        start: The first number. If `limit` is None, `start` is used as the limit, and numbers start
            at 0.
        limit: The end of the range.
        delta: The step, not 0.
        dtype: The type of the numbers. Defaults to the type of the arguments.
        name: Name of the operation.

    Raises:
        ValueError: If `delta` is 0 or has the wrong sign.
        AssertionError: If `dtype` is None and an argument is not int32, int64, float32 or float64.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        requested_dtype = None if dtype is None else as_dtype(dtype)
        tensors = [
            convert_to_tensor(value, dtype=requested_dtype, name=part)
            for value, part in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        if requested_dtype is None:
            kinds = [tensor.dtype.base_dtype for tensor in tensors]
            if wrong := [kind.name for kind in kinds if kind not in _HIERARCHY]:
                raise AssertionError(
                    "range: cannot choose a type for the result, because an argument has "
                    f"type {wrong[0]}. Pass dtype."
                )
            widest = max(kinds, key=_HIERARCHY.index)
            tensors = [cast(tensor, widest) for tensor in tensors]
        parts = zip(("start", "limit", "delta"), tensors, strict=True)
        inputs = [Input(part, value, var="Tidx", allowed=REALS) for part, value in parts]
        return apply_op("Range", inputs, _infer_range, name=scope, kernel=_range).outputs[0]


def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None
) -> Tensor:
    """Returns `num` evenly spaced numbers from `start` to `stop`, both included.

    Args:
        start: The first number, a float scalar.
        stop: The last number.
        num: The number of elements, an int scalar.
        name: Name of the operation.

    Raises:
        ValueError: If `num` is known and not positive.
    """
    inputs = [
        Input("start", start, allowed=_FLOATS),
        Input("stop", stop, allowed=_FLOATS),
        Input("num", num, var="Tidx", allowed=INDEX_TYPES, default=dtypes.int32),
    ]

    def infer(first: Tensor, last: Tensor, count: Tensor) -> Outputs:
        for tensor in (first, last, count):
            check_rank(tensor.shape, 0)
        length = fold_scalar(count)
        if length is not None and length <= 0:
            raise ShapeConflict(f"Requires num > 0: {length}")
        return [(first.dtype.base_dtype, vector(length))]

    def kernel(first: Array, last: Array, count: Array) -> Array:
        if count <= 0:
            fail(f"Requires num > 0: {count}")
        check_array([count], first.dtype)
        return np.linspace(first, last, int(count))

    return apply_op("LinSpace", inputs, infer, name=name, kernel=kernel).outputs[0]


_LONGEST = 2**63 - 1
_FLOATS = (dtypes.float32, dtypes.float64)


def _length(start: float, limit: float, delta: float) -> int:
    if delta == 0:
        raise ShapeConflict(f"Requires delta != 0: {delta}")
    if delta > 0 and start > limit:
        raise ShapeConflict(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ShapeConflict(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, int):
        return -int((start - limit) // delta)
    length = (limit - start) / delta
    if not abs(length) <= _LONGEST:
        raise ShapeConflict(f"Requires ((limit - start) / delta) <= {_LONGEST}, got {length}")
    return math.ceil(float(length))


def _infer_range(start: Tensor, limit: Tensor, delta: Tensor) -> Outputs:
    for tensor in (start, limit, delta):
        check_rank(tensor.shape, 0)
    values = [fold(tensor) for tensor in (start, limit, delta)]
    bounds = [value.item() for value in values if value is not None]
    return [(start.dtype.base_dtype, vector(_length(*bounds) if len(bounds) == 3 else None))]


def _range(start: Array, limit: Array, delta: Array) -> Array:
    try:
        length = _length(start.item(), limit.item(), delta.item())
    except ShapeConflict as conflict:
        fail(str(conflict))
    check_array([length], start.dtype)
    numbers = np.arange(length, dtype=start.dtype)
    numbers *= delta
    numbers += start
    return numbers


define("LinSpace")


def _range_by(op: Operation) -> KernelKind:
    """Allows either kernel for integers. The engine formats fractions of floats differently."""
    is_integer = op.inputs[0].dtype.is_integer
    return KernelKind.BY_EITHER if is_integer else KernelKind.BY_NUMPY_IN_SESSIONS


define("Range", computed=_range_by, fold=fold_by_kernel)
