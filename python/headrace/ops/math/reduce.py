"""Reductions over axes, and the index of the largest or smallest element.

Source: `tf.reduce_sum` and similar functions, `tf.argmax` and `tf.argmin` in TensorFlow 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike
from headrace.core.shapes import bracketed, scalar, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define, name_scope
from headrace.ops.array.fill import zeros
from headrace.ops.array.range import range as range_of
from headrace.ops.array.shape import rank
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import type_attr
from headrace.ops.framework.batching import (
    BlockInput,
    along_axis,
    known_integers,
    made_with_integers,
    moved_axis,
)
from headrace.ops.framework.conversion import constant, convert_to_tensor
from headrace.ops.framework.elementwise import INDEX_TYPES, NUMBERS, REALS, reals_by_either
from headrace.ops.framework.folding import fold, fold_by_kernel, fold_scalar
from headrace.ops.framework.inference import check_axis, reduce_shape
from headrace.ops.framework.kernel import Array, by_numpy_in_sessions, fail
from headrace.ops.math.cast import cast
from headrace.ops.math.compare import not_equal

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]


class Reduction(Protocol):
    """A function that reduces a tensor over the given axes.

    Args:
        input_tensor: The tensor.
        axis: An axis, or a list or vector of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.
        name: Name of the operation.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: If an axis does not exist.
    """

    def __call__(
        self,
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool = False,
        name: str | None = None,
    ) -> Tensor:
        """Adds the reduction to the current graph."""


def _make(
    op_type: str,
    summary: str,
    function: Callable[..., Any],
    allowed: tuple[DType, ...] | None,
) -> Reduction:
    """Creates the public function for one reduction.

    Args:
        op_type: Type of the operation.
        summary: First line of the function's documentation.
        function: Called with an array, a tuple of axes and whether to keep them.
        allowed: The types of the input, or None for only bool.
    """

    def reduce(
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool = False,
        name: str | None = None,
    ) -> Tensor:
        keep = bool(keepdims)
        dtype = dtypes.bool if allowed is None else None
        inputs = [
            Input("input", input_tensor, dtype, allowed=allowed),
            Input(
                "reduction_indices",
                _all_axes(input_tensor) if axis is None else axis,
                var="Tidx",
                allowed=INDEX_TYPES,
                default=dtypes.int32,
            ),
        ]

        def infer(tensor: Tensor, axes: Tensor) -> Outputs:
            static = fold(axes)
            dims = None if static is None else [int(dim) for dim in static.ravel()]
            return [(tensor.dtype.base_dtype, reduce_shape(tensor.shape, dims, keep))]

        def kernel(array: Array, axes: Array) -> Any:
            return function(array, _check_axes(axes, array.ndim), keep)

        attrs = {"keep_dims": keep}
        op = apply_op(op_type, inputs, infer, name=name, attrs=attrs, kernel=kernel)
        result = op.outputs[0]
        if axis is None and not keep:
            result.set_shape(scalar())
        return result

    reduce.__name__ = reduce.__qualname__ = f"reduce_{op_type.lower()}"
    reduce.__doc__ = f"{summary}\n\n{(Reduction.__doc__ or '').split(chr(10), 2)[2]}"
    return reduce


def _reduce_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    block, axes = inputs
    dims = known_integers(axes.row)
    if dims is None:
        return None
    return made_with_integers(op, block, [(axes.row, [moved_axis(dim) for dim in dims])])


def _sum(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    return np.sum(array, axis=axes, keepdims=keep, dtype=array.dtype)


def _prod(array: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.prod(array, axis=axes, keepdims=keep, dtype=array.dtype)


def _mean(array: Array, axes: tuple[int, ...], keep: bool) -> Any:
    count = math.prod(array.shape[axis] for axis in axes)
    if array.dtype.kind not in "iu":
        return np.divide(np.sum(array, axis=axes, keepdims=keep, dtype=array.dtype), count)
    wide = np.int64 if array.dtype.kind == "i" else np.uint64
    total = np.sum(array, axis=axes, keepdims=keep, dtype=wide)
    return np.sign(total) * (np.abs(total) // max(count, 1))


def _max(array: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.max(array, axis=axes, keepdims=keep, initial=_extreme(array, "min"))


def _min(array: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.min(array, axis=axes, keepdims=keep, initial=_extreme(array, "max"))


def _all(array: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.all(array, axis=axes, keepdims=keep)


def _any(array: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.any(array, axis=axes, keepdims=keep)


reduce_sum = _make("Sum", "Returns the sum along the given axes.", _sum, NUMBERS)
reduce_prod = _make("Prod", "Returns the product along the given axes.", _prod, NUMBERS)
reduce_mean = _make(
    "Mean",
    "Returns the mean along the given axes. For integers, the fraction is dropped.",
    _mean,
    NUMBERS,
)
reduce_max = _make("Max", "Returns the largest element along the given axes.", _max, REALS)
reduce_min = _make("Min", "Returns the smallest element along the given axes.", _min, REALS)
reduce_all = _make("All", "Returns whether all bools along the given axes are true.", _all, None)
reduce_any = _make("Any", "Returns whether any bool along the given axes is true.", _any, None)


def count_nonzero(
    input: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Counts the elements along the given axes that are not 0, False or empty.

    Args:
        input: The tensor.
        axis: An axis or a list of axes. Defaults to all axes.
        keepdims: If True, reduced axes are kept with size 1.
        dtype: The type of the result.
        name: Name of the scope.
    """
    with name_scope(name, "count_nonzero", [input]):
        tensor = convert_to_tensor(input, name="input")
        is_nonzero = not_equal(tensor, zeros([], dtype=tensor.dtype))
        counts = reduce_sum(cast(is_nonzero, dtypes.int64), axis=axis, keepdims=keepdims)
        return cast(counts, dtype)


def argmax(
    input: TensorLike,
    axis: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Returns the index of the largest element along an axis. If there is a tie, the first wins.

    Args:
        input: The tensor.
        axis: The axis. Defaults to 0.
        output_type: int32 or int64.
        name: Name of the operation.

    Raises:
        ValueError: If the axis does not exist.
    """
    return _arg("ArgMax", input, axis, name, output_type)


def argmin(
    input: TensorLike,
    axis: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Returns the index of the smallest element along an axis. If there is a tie, the first wins.

    Args:
        input: The tensor.
        axis: The axis. Defaults to 0.
        output_type: int32 or int64.
        name: Name of the operation.

    Raises:
        ValueError: If the axis does not exist.
    """
    return _arg("ArgMin", input, axis, name, output_type)


def _arg(
    op_type: str,
    input: TensorLike,
    axis: TensorLike | None,
    name: str | None,
    output_type: DTypeLike,
) -> Tensor:
    dtype = type_attr("output_type", output_type, INDEX_TYPES)
    find, loser = (np.argmax, -np.inf) if op_type == "ArgMax" else (np.argmin, np.inf)
    text = "Dimension ({axis}) must be in the range [{low}, {rank}), where {rank} is the "
    text += "number of dimensions in the input."

    def infer(tensor: Tensor, dim: Tensor) -> Outputs:
        where, shape = fold_scalar(dim), tensor.shape
        if shape.rank is None:
            return [(dtype, unknown_shape())]
        if where is None:
            return [(dtype, unknown_shape(shape.rank - 1))]
        where = check_axis(where, shape.rank, text)
        return [(dtype, shape[:where].concatenate(shape[where + 1 :]))]

    def kernel(array: Array, dim: Array) -> Any:
        if dim.ndim:
            fail(f"dim must be a scalar, but received tensor of shape: {bracketed(dim.shape)}")
        where = int(dim.item())
        if not -array.ndim <= where < array.ndim:
            fail(f"Expected dimension in the range [{-array.ndim}, {array.ndim}), but got {where}")
        if array.shape[where] == 0:
            fail(f"Reduction axis {where} is empty in shape {bracketed(array.shape)}")
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), loser, array)  # Every comparison with NaN is false.
        return find(array, axis=where)

    inputs = [
        Input("input", input, allowed=NUMBERS),
        Input(
            "dimension",
            0 if axis is None else axis,
            var="Tidx",
            allowed=INDEX_TYPES,
            default=dtypes.int32,
        ),
    ]
    attrs = {"output_type": dtype}
    return apply_op(op_type, inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def _all_axes(tensor: TensorLike) -> Tensor:
    if isinstance(tensor, Tensor) and tensor.shape.rank is not None:
        return constant(np.arange(tensor.shape.rank), dtype=dtypes.int32)
    return range_of(0, rank(tensor))


def _check_axes(axes: Array, ndim: int) -> tuple[int, ...]:
    checked: list[int] = []
    for axis in axes.ravel().tolist():
        if not -ndim <= axis < ndim:
            fail(f"Invalid reduction dimension ({axis} for input with {ndim} dimension(s)")
        if axis % ndim in checked:
            fail(f"Invalid reduction arguments: Axes contains duplicate dimension: {axis % ndim}")
        checked.append(axis % ndim)
    return tuple(checked)


def _extreme(array: Array, which: str) -> Any:
    if array.dtype.kind == "f":
        return -np.inf if which == "min" else np.inf
    return getattr(np.iinfo(array.dtype), which)


_REDUCTION: Final[dict[str, Any]] = {
    "fold": fold_by_kernel,
    "computed": by_numpy_in_sessions,
    "batch_rule": _reduce_blocks,
}

define("All", **_REDUCTION)
define("Any", **_REDUCTION)
define("ArgMax", computed=reals_by_either, batch_rule=along_axis)
define("ArgMin", computed=reals_by_either, batch_rule=along_axis)
define("Max", **_REDUCTION)
define("Mean", **_REDUCTION)
define("Min", **_REDUCTION)
define("Prod", **_REDUCTION)
define("Sum", **_REDUCTION)
