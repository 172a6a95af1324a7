"""Substrings, and the lengths of strings.

Source: `tf.substr` and `tf.strings.length` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from headrace.core import dtypes
from headrace.core.allocation_guard import check_array
from headrace.core.shapes import bracketed
from headrace.graph import Operation, Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.batching import BlockInput, elementwise
from headrace.ops.framework.elementwise import INDEX_TYPES
from headrace.ops.framework.inference import (
    ShapeConflict,
    broadcast_shapes,
    check_rank,
)
from headrace.ops.framework.kernel import Array, by_either, fail, string_array

__all__ = ["string_length", "substr"]

_UNITS: Final = ("BYTE", "UTF8_CHAR")


def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, unit: str = "BYTE", name: str | None = None
) -> Tensor:
    """Returns a part of each string.

    Args:
        input: The strings.
        pos: The start of the part, an integer tensor. Negative positions count from the end.
        len: The length of the part, of the type and shape of `pos`. If it is negative or goes past
            the end, the part is the rest of the string.
        unit: "BYTE", or "UTF8_CHAR" to count characters.
        name: Name of the operation.

    Returns:
        Strings in the broadcast shape of `input` and `pos`.

    Raises:
        InvalidArgumentError: At run time, if a part starts outside its string.
        ValueError: If the shapes are incompatible, or the unit does not exist.
    """
    _check_unit("Substr", unit)

    def infer(strings: Tensor, begins: Tensor, lengths: Tensor) -> Outputs:
        if lengths.shape.rank is not None:
            check_rank(begins.shape, lengths.shape.rank)
        if not begins.shape.is_compatible_with(lengths.shape):
            raise ShapeConflict(
                f"pos and len shapes must match: {bracketed(begins.shape)} vs. "
                f"{bracketed(lengths.shape)}"
            )
        return [(dtypes.string, broadcast_shapes(strings.shape, begins.shape))]

    def kernel(strings: Array, begins: Array, lengths: Array) -> Array:
        if begins.shape != lengths.shape:
            fail(
                f"pos and len should have the same shape, got: {bracketed(begins.shape)} vs. "
                f"{bracketed(lengths.shape)}"
            )
        try:
            texts, starts, counts = np.broadcast_arrays(strings, begins, lengths)
        except ValueError:
            fail(f"Incompatible shapes: {bracketed(strings.shape)} vs. {bracketed(begins.shape)}")
        check_array(texts.shape, object)
        cells = zip(texts.flat, starts.flat, counts.flat, strict=True)
        parts = [_part(*cell, index, unit) for index, cell in enumerate(cells)]
        return string_array(parts, texts.shape)

    inputs = [
        Input("input", input, dtypes.string),
        Input("pos", pos, var="T", allowed=INDEX_TYPES),
        Input("len", len, var="T", allowed=INDEX_TYPES),
    ]
    attrs = {"unit": unit}
    return apply_op("Substr", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def string_length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Returns the length of each string, as int32.

    Args:
        input: The strings.
        unit: "BYTE", or "UTF8_CHAR" to count characters.
        name: Name of the operation.

    Raises:
        ValueError: If the unit does not exist.
    """
    _check_unit("StringLength", unit)

    def infer(strings: Tensor) -> Outputs:
        return [(dtypes.int32, strings.shape)]

    def kernel(strings: Array) -> Array:
        is_bytes = unit == "BYTE"
        lengths = [len(text if is_bytes else _starts(text)) for text in strings.flat]
        return np.array(lengths, dtype=np.int32).reshape(strings.shape)

    inputs = [Input("input", input, dtypes.string)]
    attrs = {"unit": unit}
    op = apply_op("StringLength", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _check_unit(op_type: str, unit: str) -> None:
    if unit not in _UNITS:
        raise ValueError(
            f"Attr 'unit' of '{op_type}' Op passed string '{unit}' not in: \"BYTE\", \"UTF8_CHAR\"."
        )


def _starts(text: bytes) -> list[int]:
    """Returns the byte offset of each character of a UTF-8 string."""
    return [position for position, byte in enumerate(text) if byte & 0xC0 != 0x80]


def _part(text: bytes, begin: int, length: int, index: int, unit: str) -> bytes:
    starts = range(len(text)) if unit == "BYTE" else _starts(text)
    size = len(starts)
    if not -size <= begin <= size:
        shown = f" b'{text.decode(errors='backslashreplace')}'" if unit == "BYTE" else ""
        fail(f"pos {begin} out of range for string{shown} at index {index}")
    first = begin + size if begin < 0 else begin
    last = size if length < 0 else min(first + length, size)
    bounds = [*starts, len(text)]
    return text[bounds[first] : bounds[last]]


def _substr_blocks(op: Operation, inputs: Sequence[BlockInput]) -> list[Tensor] | None:
    _, begins, lengths = inputs
    # They must have the same shape in a block, too.
    return elementwise(op, inputs) if begins.is_batched == lengths.is_batched else None


define("StringLength", computed=by_either, batch_rule=elementwise)
define("Substr", computed=by_either, batch_rule=_substr_blocks)
