"""Selecting elements by a condition.

Source: `tf.where` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Operation, Tensor, TensorLike, define, name_scope
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import BlockInput, made_again
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.elementwise import NUMBERS
from headrace.ops.framework.inference import merge_shapes
from headrace.ops.framework.kernel import Array, by_numpy_in_sessions, fail

__all__ = ["where"]


_MASKS: Final = (*NUMBERS, dtypes.bool)


_MAX_WHERE_RANK: Final = 8


def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Selects elements of two tensors by a condition, or returns the indices of true elements.

    Args:
        condition: Bools. If `x` and `y` are passed, the condition has the same shape, or is a
            scalar, or is a vector that selects whole rows.
        x: The values where the condition is true.
        y: The values where the condition is false.
        name: Name of the operation.

    Returns:
        A tensor like `x` and `y`. If they are not passed, the int64 indices of the true elements,
        with one row per element.

    Raises:
        ValueError: If only one of `x` and `y` is passed, or shapes differ.

    Examples:
        >>> rectify = hr.native(lambda one: {"y": hr.ops.where(one["x"] > 0, one["x"], [0, 0])})
        >>> rectify({"x": np.array([-1, 5])})
        {'y': array([0, 5])}
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None or y is None:
        with name_scope(name, "Where", [condition]) as scope:
            tensor = convert_to_tensor(condition, dtype_hint=dtypes.bool, name="condition")
            inputs = [Input("input", tensor, allowed=_MASKS)]
            op = apply_op("Where", inputs, _infer_where, name=scope, kernel=_find_true)
            return op.outputs[0]
    inputs = [Input("condition", condition, dtypes.bool), Input("t", x), Input("e", y)]
    return apply_op("Select", inputs, _infer_select, name=name, kernel=_select).outputs[0]


def _find_true(condition: Array) -> Array:
    if not 1 <= condition.ndim <= _MAX_WHERE_RANK:
        fail(f"WhereOp : Unhandled input dimensions: {condition.ndim}")
    return np.argwhere(condition)


def _infer_where(condition: Tensor) -> Outputs:
    return [(dtypes.int64, TensorShape([None, condition.shape.rank]))]


def _infer_select(condition: Tensor, x: Tensor, y: Tensor) -> Outputs:
    shape = merge_shapes(x.shape, y.shape)
    rows = condition.shape
    if shape.rank is not None and rows.rank not in (None, 0):
        if rows.rank == 1 and shape.rank > 1:
            merge_shapes(rows, shape[:1])
        else:
            shape = merge_shapes(rows, shape)
    return [(x.dtype.base_dtype, shape)]


def _select(condition: Array, x: Array, y: Array) -> Array:
    picks_rows = condition.ndim == 1 and x.ndim != 1
    if condition.ndim and not picks_rows:
        for number, array in ((1, x), (2, y)):
            if array.shape != condition.shape:
                fail(
                    "Inputs to operation Select of type Select must have the same size and shape.  "
                    f"Input 0: {bracketed(condition.shape)} != input {number}: "
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


def _select_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    if not all(item.is_batched for item in inputs):
        return None
    condition, x, _ = (item.row.shape.rank for item in inputs)
    # A scalar condition becomes a vector that selects rows of the block. A vector condition, which
    # selects slices of each row, has no batched form.
    is_simple = condition == 0 or (condition is not None and condition == x)
    return made_again(op, [item.block for item in inputs]) if is_simple else None


define("Select", computed=by_numpy_in_sessions, batch_rule=_select_blocks)


define("Where")
