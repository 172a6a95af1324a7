"""Unicode characters: code points, encodings and scripts.

Source: `tf.strings.unicode_decode` and similar functions in TensorFlow 1.15. `unicode_scripts.txt`
contains the first code point of each range with the same script, and the number of that script in
ICU.
"""

from __future__ import annotations

import codecs
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.range import range as range_of
from headrace.ops.array.reshape import expand_dims, reshape
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import check_rank, like
from headrace.ops.framework.kernel import Array, fail, string_array
from headrace.ops.math.reduce import reduce_prod
from headrace.tf1.ops.sparse.ragged import RaggedTensor

__all__ = [
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_script",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
]

_OUTPUTS: Final = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
_ERRORS: Final = ("strict", "replace", "ignore")
_LAST: Final = 0x10FFFF
_FIRST_NON_CONTROL: Final = 0x20
# Byte order marks, for encodings that have two byte orders.
_MARKS: Final = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}
_NOTE_SPANS: Final = "headrace.note_spans"
_noted: Final = threading.local()


def unicode_decode(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Returns the code points of the characters in strings.

    Args:
        input: Strings of a known rank.
        input_encoding: The encoding of the strings, such as "UTF-8" or "UTF-16-BE".
        errors: How to handle invalid bytes: "replace" inserts `replacement_char`, "ignore" omits
            them, and "strict" ends the run with InvalidArgumentError.
        replacement_char: A code point.
        replace_control_characters: Whether to replace characters below U+0020 as well.
        name: Name of the scope.

    Returns:
        int32: a vector if `input` is a scalar, and a `RaggedTensor` with one row per string
            otherwise.

    Raises:
        ValueError: If the rank is unknown, or an argument is invalid.
    """
    rules = input_encoding, errors, replacement_char, replace_control_characters
    with name_scope(name, "UnicodeDecode", [_flat(input)]):
        [points] = _decoded(input, rules, has_offsets=False)
        return points


def unicode_decode_with_offsets(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Tensor | RaggedTensor, Tensor | RaggedTensor]:
    """Returns the code points of the characters in strings, and their positions.

    Args:
        input: See `unicode_decode`.
        input_encoding: See `unicode_decode`.
        errors: See `unicode_decode`.
        replacement_char: See `unicode_decode`.
        replace_control_characters: See `unicode_decode`.
        name: See `unicode_decode`.

    Returns:
        The code points, and the byte position of each character in its string, int64.

    Raises:
        ValueError: See `unicode_decode`.
    """
    rules = input_encoding, errors, replacement_char, replace_control_characters
    with name_scope(name, "UnicodeDecodeWithOffsets", [_flat(input)]):
        points, offsets = _decoded(input, rules, has_offsets=True)
        return points, offsets


def unicode_split(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Returns the characters in strings as strings.

    Args:
        input: See `unicode_decode`.
        input_encoding: The encoding of the strings and of the characters: "UTF-8", "UTF-16-BE" or
            "UTF-32-BE".
        errors: See `unicode_decode`.
        replacement_char: See `unicode_decode`.
        name: See `unicode_decode`.

    Returns:
        A vector if `input` is a scalar, and a `RaggedTensor` with one row per string otherwise.

    Raises:
        ValueError: See `unicode_decode`.
    """
    with name_scope(name, "UnicodeSplit", [_flat(input)]):
        points = unicode_decode(input, input_encoding, errors, replacement_char)
        return _as_characters(points, input_encoding, errors, replacement_char)


def unicode_split_with_offsets(
    input: TensorLike | RaggedTensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> tuple[Tensor | RaggedTensor, Tensor | RaggedTensor]:
    """Returns the characters in strings as strings, and their positions.

    Args:
        input: See `unicode_split`.
        input_encoding: See `unicode_split`.
        errors: See `unicode_split`.
        replacement_char: See `unicode_split`.
        name: See `unicode_split`.

    Returns:
        The characters, and the byte position of each character in its string, int64.

    Raises:
        ValueError: See `unicode_decode`.
    """
    with name_scope(name, "UnicodeSplitWithOffsets", [_flat(input)]):
        points, offsets = unicode_decode_with_offsets(
            input, input_encoding, errors, replacement_char
        )
        return _as_characters(points, input_encoding, errors, replacement_char), offsets


def unicode_encode(
    input: TensorLike | RaggedTensor,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Converts code points to strings.

    Args:
        input: int32 code points, (..., characters), or a `RaggedTensor`.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: See `unicode_decode`. Here, the argument applies to numbers that are not the code
            point of a character.
        replacement_char: A code point.
        name: Name of the scope.

    Returns:
        The strings, without the last dimension.

    Raises:
        ValueError: If the rank is 0 or unknown, or an argument is invalid.
    """
    with name_scope(name, "UnicodeEncode", [_flat(input)]):
        return _encoded(input, (output_encoding, errors, replacement_char))


def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Changes the encoding of strings.

    Args:
        input: The strings.
        input_encoding: The encoding of the strings, such as "UTF-8" or "ISO-8859-1".
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: See `unicode_decode`.
        replacement_char: A code point.
        replace_control_characters: See `unicode_decode`.
        name: Name of the operation.

    Raises:
        ValueError: If an argument is invalid.
    """
    options = _Options(errors, replacement_char, replace_control_characters)
    decode, encoding = _decoder(input_encoding), _check_output(output_encoding)

    def kernel(strings: Array) -> Array:
        texts = [_written(options.repaired(*decode(text))[0], encoding) for text in strings.ravel()]
        return string_array(texts, strings.shape)

    attrs = {
        "input_encoding": input_encoding,
        "output_encoding": output_encoding,
        **options.attrs(),
    }
    inputs = [Input("input", input, dtypes.string)]
    op = apply_op("UnicodeTranscode", inputs, like, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def unicode_script(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the script number of each code point, as in ICU's `UScriptCode`.

    Args:
        input: int32 code points.
        name: Name of the operation.

    Returns:
        int32, of the same shape: for example, 0 for characters common to all scripts, 25 for Latin,
        and -1 for invalid code points.
    """

    def kernel(points: Array) -> Array:
        starts, scripts = _scripts()
        codes = scripts[np.searchsorted(starts, points, side="right") - 1]
        return np.where((points < 0) | (points > _LAST), -1, codes)

    inputs = [Input("input", input, dtypes.int32)]
    return apply_op("UnicodeScript", inputs, like, name=name, kernel=kernel).outputs[0]


@dataclass(frozen=True)
class _Options:
    """How to treat bytes that are not valid characters.

    Attributes:
        errors: One of `_ERRORS`.
        replacement: The code point that replaces them.
        replaces_controls: Whether control characters are replaced, too.
    """

    errors: str
    replacement: int
    replaces_controls: bool = False

    def __post_init__(self) -> None:
        if self.errors not in _ERRORS:
            raise ValueError(
                f"Value for attr 'errors' of {self.errors!r} is not in the list of allowed values: "
                f"{', '.join(map(repr, _ERRORS))}"
            )
        if not 0 <= self.replacement <= _LAST or 0xD800 <= self.replacement < 0xE000:
            raise ValueError(
                f"replacement_char: got {self.replacement}, expected the code point of a character."
            )

    def attrs(self) -> dict[str, Any]:
        """Returns the attributes of an operation."""
        return {
            "errors": self.errors,
            "replacement_char": self.replacement,
            "replace_control_characters": bool(self.replaces_controls),
        }

    def repaired(self, points: Array, offsets: Array) -> tuple[Array, Array]:
        """Replaces or omits invalid code points, and returns the code points and their offsets.

        Args:
            points: The code points, with -1 for bytes that are not a character.
            offsets: The offset of each code point.
        """
        is_wrong = points < (_FIRST_NON_CONTROL if self.replaces_controls else 0)
        if not is_wrong.any():
            return points, offsets
        if self.errors == "strict":
            fail("Invalid formatting on input string")
        is_left_out = self.errors == "ignore"
        return self.kept(points, is_wrong), offsets[~is_wrong] if is_left_out else offsets

    def kept(self, points: Array, is_wrong: Array) -> Array:
        """Replaces or omits invalid code points."""
        if self.errors == "ignore":
            return points[~is_wrong]
        return np.where(is_wrong, self.replacement, points)


def _decoded(
    input: TensorLike | RaggedTensor, rules: tuple[str, str, int, bool], has_offsets: bool
) -> Sequence[Tensor | RaggedTensor]:
    """Returns the code points of each string as a row, with their offsets if requested."""
    if isinstance(input, RaggedTensor):
        parts = _decoded(input.flat_values, rules, has_offsets)
        return [input.with_flat_values(part) for part in parts]
    strings = convert_to_tensor(input, dtype=dtypes.string, name="input")
    rank = strings.shape.rank
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    splits, *parts = decode_rows(reshape(strings, [-1]), *rules, has_offsets)
    if rank == 0:
        return parts
    rows = [RaggedTensor(part, splits) for part in parts]
    sizes = shape_of(strings, out_type=dtypes.int64)
    for axis in range(rank - 1, 0, -1):
        outer = range_of(reduce_prod(sizes[:axis]) + 1) * sizes[axis]
        rows = [RaggedTensor(part, outer) for part in rows]
    return rows


def decode_rows(
    strings: Tensor,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    has_offsets: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Returns the row splits, the code points and, if requested, the offsets.

    Args:
        strings: A vector.
        input_encoding: See `unicode_decode`.
        errors: See `unicode_decode`.
        replacement_char: See `unicode_decode`.
        replace_control_characters: See `unicode_decode`.
        has_offsets: Whether to return offsets.
        name: Name of the operation.
    """
    decode = _decoder(input_encoding)
    options = _Options(errors, replacement_char, replace_control_characters)

    def infer(texts: Tensor) -> Outputs:
        check_rank(texts.shape, 1)
        length = texts.shape[0].value if texts.shape.rank else None
        splits = TensorShape([None if length is None else length + 1])
        part = TensorShape([None])
        outputs = [(dtypes.int64, splits), (dtypes.int32, part), (dtypes.int64, part)]
        return outputs if has_offsets else outputs[:2]

    def kernel(texts: Array) -> list[Array]:
        parts = [options.repaired(*decode(text)) for text in texts]
        splits = np.cumsum([0, *(len(points) for points, _ in parts)], dtype=np.int64)
        columns = [
            np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*parts, strict=True)
        ] or [np.zeros(0, np.int64)] * 2
        return [splits, *columns] if has_offsets else [splits, columns[0]]

    op = apply_op(
        "UnicodeDecodeWithOffsets" if has_offsets else "UnicodeDecode",
        [Input("input", strings, dtypes.string)],
        infer,
        name=name,
        attrs={"input_encoding": input_encoding, "Tsplits": dtypes.int64, **options.attrs()},
        kernel=kernel,
    )
    return tuple(op.outputs)


def _encoded(
    input: TensorLike | RaggedTensor, rules: tuple[str, str, int]
) -> Tensor | RaggedTensor:
    if isinstance(input, RaggedTensor):
        flat = input.flat_values
        if (flat.shape.rank or 1) > 1:
            return input.with_flat_values(_encoded(flat, rules))
        if isinstance(input.values, RaggedTensor):
            return input.with_values(_encoded(input.values, rules))
        return encode_rows(input.values, input.row_splits, *rules)
    points = convert_to_tensor(input, dtype=dtypes.int32, name="input")
    rank = points.shape.rank
    if rank is None:
        raise ValueError("Rank of input_tensor must be statically known.")
    if rank == 0:
        raise ValueError("input_tensor's rank must be at least 1.")
    sizes = shape_of(points, out_type=dtypes.int64)
    splits = range_of(reduce_prod(sizes[:-1]) + 1) * sizes[-1]
    strings = reshape(encode_rows(reshape(points, [-1]), splits, *rules), sizes[:-1])
    strings.set_shape(points.shape[:-1])
    return strings


def encode_rows(
    points: Tensor,
    splits: Tensor,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Tensor:
    """Converts rows of code points to strings.

    Args:
        points: The code points, a vector.
        splits: The row splits.
        output_encoding: See `unicode_encode`.
        errors: See `unicode_encode`.
        replacement_char: See `unicode_encode`.
        name: Name of the operation.
    """
    codec = _check_output(output_encoding)
    options = _Options(errors, replacement_char)

    def infer(_: Tensor, splits: Tensor) -> Outputs:
        length = splits.shape[0].value if splits.shape.rank else None
        return [(dtypes.string, TensorShape([None if length is None else length - 1]))]

    def kernel(points: Array, splits: Array) -> Array:
        is_wrong = (points < 0) | (points > _LAST) | ((points >= 0xD800) & (points < 0xE000))
        if is_wrong.any() and options.errors == "strict":
            fail("Code point is out of range for Unicode, or a noncharacter.")
        rows = zip(np.split(points, splits[1:-1]), np.split(is_wrong, splits[1:-1]), strict=True)
        texts = [_written(options.kept(*row), codec) for row in rows]
        return string_array(texts[: len(splits) - 1], [len(splits) - 1])

    inputs = [
        Input("input_values", points, dtypes.int32),
        Input("input_splits", splits, dtypes.int64),
    ]
    attrs = {
        "output_encoding": output_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
        "Tsplits": dtypes.int64,
    }
    op = apply_op("UnicodeEncode", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _as_characters(
    points: Tensor | RaggedTensor, encoding: str, errors: str, replacement_char: int
) -> Tensor | RaggedTensor:
    flat = points.flat_values if isinstance(points, RaggedTensor) else points
    characters = unicode_encode(expand_dims(flat, -1), encoding, errors, replacement_char)
    return points.with_flat_values(characters) if isinstance(points, RaggedTensor) else characters


def _flat(input: TensorLike | RaggedTensor) -> TensorLike:
    return input.flat_values if isinstance(input, RaggedTensor) else input


def _check_output(encoding: str) -> str:
    if encoding not in _OUTPUTS:
        raise ValueError(
            f"Value for attr 'output_encoding' of {encoding!r} is not in the list of allowed "
            f"values: {', '.join(map(repr, _OUTPUTS))}"
        )
    return _OUTPUTS[encoding]


def _written(points: Array, codec: str) -> bytes:
    return points.astype("<u4").tobytes().decode("utf-32-le").encode(codec)


def _decoder(encoding: str) -> Callable[[bytes], tuple[Array, Array]]:
    """Returns a function that decodes bytes to code points (-1 if invalid) and their offsets.

    Raises:
        ValueError: If the encoding does not exist.
    """
    try:
        codec = codecs.lookup(encoding)
    except LookupError:
        codec = None
    if codec is None or not codec._is_text_encoding:
        raise ValueError(
            f"Could not create converter for input encoding: {encoding}. Use one that Python "
            "supports, such as UTF-8."
        )

    def decode(data: bytes) -> tuple[Array, Array]:
        name, start = codec.name, 0
        if name in _MARKS:
            marks = [(mark, name) for mark, name in _MARKS[name] if data.startswith(mark)]
            mark, name = marks[0] if marks else (b"", f"{name}-be")
            start = len(mark)
        parts = list(_parts_of(data[start:], name, start))
        if len(parts) == 1:
            return parts[0]
        points, offsets = zip(*parts, strict=True) if parts else ((), ())
        empty = np.zeros(0, np.int64)
        return np.concatenate([empty, *points]), np.concatenate([empty, *offsets])

    return decode


def _parts_of(data: bytes, codec: str, start: int) -> Iterator[tuple[Array, Array]]:
    """Yields a string's code points and offsets in parts: valid spans and single invalid bytes."""
    begin = 0
    for wrong, end in [*_wrong_spans(data, codec), (len(data), len(data))]:
        if wrong > begin:
            yield _characters(data[begin:wrong], codec, start + begin)
        if end > wrong:
            yield np.array([-1]), np.array([start + wrong])
        begin = end


def _wrong_spans(data: bytes, codec: str) -> list[tuple[int, int]]:
    """Returns the spans of bytes that are not valid characters."""
    _noted.spans = []
    data.decode(codec, _NOTE_SPANS)
    spans: list[tuple[int, int]] = _noted.spans
    return spans


def _note_span(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    _noted.spans.append((error.start, error.end))
    return "", error.end


def _characters(data: bytes, codec: str, start: int) -> tuple[Array, Array]:
    """Returns the code points of valid bytes, and their offsets counted from `start`."""
    text = data.decode(codec)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
    if codec == "utf-8":
        widths = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    elif codec.startswith("utf-16"):
        widths = 2 + 2 * (points >= 0x10000)
    elif codec.startswith("utf-32"):
        widths = np.full(len(points), 4)
    else:
        widths = np.array(list(_widths_of(data, codec)))
    is_half = (points >= 0xD800) & (points < 0xE000)
    return np.where(is_half, -1, points), start + np.cumsum(widths) - widths


def _widths_of(data: bytes, codec: str) -> Iterator[int]:
    """Yields the number of bytes of each character, in any encoding."""
    decoder = codecs.getincrementaldecoder(codec)()
    width = 0
    for position in range(len(data)):
        width += 1
        num_characters = len(decoder.decode(data[position : position + 1]))
        for number in range(num_characters):
            yield 0 if number else width
        width = 0 if num_characters else width


@cache
def _scripts() -> tuple[Array, Array]:
    """Returns the first code point of each range and the number of its script."""
    text = files("headrace.tf1.ops.strings").joinpath("unicode_scripts.txt").read_text("ascii")
    rows = [line.split() for line in text.splitlines()]
    starts = np.array([int(start, 16) for start, _ in rows])
    return starts, np.array([int(script) for _, script in rows])


codecs.register_error(_NOTE_SPANS, _note_span)
define("UnicodeDecode")
define("UnicodeDecodeWithOffsets")
define("UnicodeEncode")
define("UnicodeScript")
define("UnicodeTranscode")
