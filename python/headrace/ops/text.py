"""Strings cut, measured and changed.

Source: `tf.strings` of TensorFlow 1.15.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.errors import OutOfRangeError
from headrace.graph import Tensor, name_scope
from headrace.memory import check_array
from headrace.ops.arguments import Input, apply_op, only_one
from headrace.ops.conversion import convert_to_tensor
from headrace.ops.folding import fold
from headrace.ops.inference import ShapeConflict, broadcast_shapes, check_rank, like, reduce_shape
from headrace.ops.kernel import Array, fail, string_array
from headrace.ops.measures import rank
from headrace.ops.sequences import range as range_of
from headrace.shapes import bracketed

__all__ = [
    "reduce_join",
    "string_length",
    "string_lower",
    "string_strip",
    "string_upper",
    "substr",
]

_INDEX_TYPES: Final = (dtypes.int32, dtypes.int64)
_UNITS: Final = ("BYTE", "UTF8_CHAR")
_SPACES: Final = b" \t\n\v\f\r"


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Returns a part of each string.

    Args:
        input: The strings.
        pos: Where the part begins, an integer tensor; negative if counted from the end.
        len: How long it is, of the type and shape of `pos`; negative, or past the end, for all that
            is left.
        name: Name of the operation.
        unit: What is counted: "BYTE", or "UTF8_CHAR" for characters.

    Returns:
        Strings in the shape to which `input` and `pos` are broadcast. A run in which a part begins
        outside of its string ends with InvalidArgumentError.

    Raises:
        ValueError: If the shapes do not fit, or there is no such unit.
    """
    _check_unit("Substr", unit)

    def infer(strings: Tensor, begins: Tensor, lengths: Tensor) -> Any:
        if lengths.shape.rank is not None:
            check_rank(begins.shape, lengths.shape.rank)
        if not begins.shape.is_compatible_with(lengths.shape):
            raise ShapeConflict(
                f"pos and len shapes must match: {bracketed(begins.shape)} vs. "
                f"{bracketed(lengths.shape)}"
            )
        return [(dtypes.string, broadcast_shapes(strings.shape, begins.shape))]

    def kernel(strings: Array, begins: Array, lengths: Array) -> Any:
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
        Input("pos", pos, var="T", allowed=_INDEX_TYPES),
        Input("len", len, var="T", allowed=_INDEX_TYPES),
    ]
    attrs = {"unit": unit}
    return apply_op("Substr", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Returns the length of each string, int32.

    Args:
        input: The strings.
        name: Name of the operation.
        unit: What is counted: "BYTE", or "UTF8_CHAR" for characters.

    Raises:
        ValueError: If there is no such unit.
    """
    _check_unit("StringLength", unit)

    def infer(strings: Tensor) -> Any:
        return [(dtypes.int32, strings.shape)]

    def kernel(strings: Array) -> Any:
        is_bytes = unit == "BYTE"
        lengths = [len(text if is_bytes else _starts(text)) for text in strings.flat]
        return np.array(lengths, dtype=np.int32).reshape(strings.shape)

    inputs = [Input("input", input, dtypes.string)]
    attrs = {"unit": unit}
    op = apply_op("StringLength", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Returns each string with small letters in place of capital ones.

    Args:
        input: The strings.
        encoding: "utf-8" for the letters of all languages; "" for those of ASCII.
        name: Name of the operation.
    """
    return _change_case("StringLower", input, encoding, name, bytes.lower, str.lower)


def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Returns each string with capital letters in place of small ones.

    Args:
        input: The strings.
        encoding: "utf-8" for the letters of all languages; "" for those of ASCII.
        name: Name of the operation.
    """
    return _change_case("StringUpper", input, encoding, name, bytes.upper, str.upper)


def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Returns each string without the spaces around it."""
    return _map_strings("StringStrip", input, name, lambda text: text.strip(_SPACES))


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Joins the strings along some axes.

    Args:
        inputs: The strings.
        axis: The axis, or the axes: along the first of them strings are joined first, then those
            along the second. None for all of them, from the last to the first.
        keep_dims: Old name of `keepdims`.
        separator: What stands between two strings.
        name: Name of the operation.
        reduction_indices: Old name of `axis`.
        keepdims: Whether joined axes stay, with size 1.

    Raises:
        ValueError: If there is no such axis, or both an old and a new name are given.
    """
    keep = bool(only_one("keepdims", keepdims, "keep_dims", keep_dims))
    axes = only_one("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(name, "ReduceJoin", [inputs]) as scope:
        strings = convert_to_tensor(inputs)
        if axes is None:
            axes = range_of(rank(strings) - 1, -1, -1)

        def infer(texts: Tensor, places: Tensor) -> Any:
            known = fold(places)
            wanted = None if known is None else [int(place) for place in known.ravel()]
            return [(dtypes.string, reduce_shape(texts.shape, wanted, keep))]

        def kernel(texts: Array, places: Array) -> Any:
            return _join(texts, places, separator.encode(), keep)

        given = [
            Input("inputs", strings, dtypes.string),
            Input("reduction_indices", axes, dtypes.int32),
        ]
        attrs = {"keep_dims": keep, "separator": separator}
        op = apply_op("ReduceJoin", given, infer, name=scope, attrs=attrs, kernel=kernel)
        return op.outputs[0]


def _map_strings(
    op_type: str, input: Any, name: str | None, function: Callable[[bytes], bytes]
) -> Tensor:
    """Adds an operation that changes each string by itself.

    Args:
        op_type: Its type.
        input: The strings.
        name: Its name.
        function: What is done to each.
    """

    def kernel(strings: Array) -> Any:
        return string_array([function(text) for text in strings.flat], strings.shape)

    inputs = [Input("input", input, dtypes.string)]
    return apply_op(op_type, inputs, like, name=name, kernel=kernel).outputs[0]


def _change_case(
    op_type: str,
    input: Any,
    encoding: str,
    name: str | None,
    of_bytes: Callable[[bytes], bytes],
    of_text: Callable[[str], str],
) -> Tensor:
    def change(text: bytes) -> bytes:
        if encoding not in ("", "utf-8"):
            fail(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        return of_text(text.decode(errors="replace")).encode() if encoding else of_bytes(text)

    return _map_strings(op_type, input, name, change)


def _check_unit(op_type: str, unit: str) -> None:
    if unit not in _UNITS:
        raise ValueError(
            f"Attr 'unit' of '{op_type}' Op passed string '{unit}' not in: \"BYTE\", \"UTF8_CHAR\"."
        )


def _starts(text: bytes) -> list[int]:
    """Returns where the characters of a string in UTF-8 begin."""
    return [place for place, byte in enumerate(text) if byte & 0xC0 != 0x80]


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


def _join(texts: Array, places: Array, separator: bytes, keep: bool) -> Any:
    axes: list[int] = []
    for axis in places.ravel().tolist():
        if not -texts.ndim <= axis < texts.ndim:
            text = f"Invalid reduction dimension {axis} for input with {texts.ndim} dimension(s)"
            raise OutOfRangeError(None, None, text)
        if axis % texts.ndim in axes:
            fail(f"Duplicate reduction dimension {axis}")
        axes.append(axis % texts.ndim)
    kept = [axis for axis in range(texts.ndim) if axis not in axes]
    shape = [1 if axis in axes else size for axis, size in enumerate(texts.shape)]
    if not keep:
        shape = [texts.shape[axis] for axis in kept]
    count = int(np.prod([texts.shape[axis] for axis in kept], dtype=np.int64))
    rows = (
        np.transpose(texts, [*kept, *axes[::-1]]).reshape(count, -1) if texts.size else [()] * count
    )
    return string_array([separator.join(row) for row in rows], shape)
