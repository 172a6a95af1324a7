"""Padding along the axes of a tensor.

Source: `tf.pad` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import TensorShape, bracketed, unknown_shape
from headrace.graph import Operation, Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import BlockInput, integers, made_again
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.folding import fold
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, by_either, fail

__all__ = ["pad"]


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """Adds elements before and after a tensor along each axis.

    Args:
        tensor: The tensor.
        paddings: The numbers of elements to add before and after, an integer matrix with one row
            per axis.
        mode: "CONSTANT", "REFLECT" (mirrored, without repeating the edge) or "SYMMETRIC" (mirrored,
            with the edge).
        constant_values: The value of new elements in constant mode, a scalar.
        name: Name of the operation.

    Raises:
        ValueError: If the mode does not exist, or `paddings` does not have one row per axis.

    Examples:
        >>> extend = hr.native(lambda example: {"y": hr.ops.pad(example["x"], [[1, 2]])})
        >>> extend({"x": np.array([7, 8])})
        {'y': array([0, 7, 8, 0, 0])}
    """
    mode = mode.upper()
    numpy_mode = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}.get(mode)
    if numpy_mode is None:
        raise ValueError(f"Unknown padding mode: {mode}")
    inputs = [
        Input("input", tensor),
        Input("paddings", paddings, var="Tpaddings", allowed=INDEX_TYPES, default=dtypes.int32),
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
        if numpy_mode != "constant":
            _check_mirror(x, amounts, mode)
        sizes = [size + sum(row) for size, row in zip(x.shape, amounts.tolist(), strict=True)]
        check_array(sizes, x.dtype)
        if numpy_mode != "constant":
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


def _infer_pad(tensor: Tensor, paddings: Tensor, *_: Tensor) -> Outputs:
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


def _pad_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    block, *others = inputs
    amounts = fold(others[0].row)
    if amounts is None or any(item.is_batched for item in others):
        return None
    widened = integers([[0, 0], *amounts.tolist()], others[0].row.dtype)
    return made_again(op, [block.block, widened, *[item.block for item in others[1:]]])


define("MirrorPad", computed=by_either, batch_rule=_pad_blocks)
define("Pad", computed=by_either, batch_rule=_pad_blocks)
define("PadV2", computed=by_either, batch_rule=_pad_blocks)
