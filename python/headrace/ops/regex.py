r"""Strings searched and changed by regular expressions.

The expressions are those of Python's `re`, with classes such as `\d` for ASCII alone, and with
`[[:alpha:]]`, `\z` and `\Q...\E`, which only TensorFlow's have. Otherwise these have nearly the
same syntax; what they do not know (looking around, references back) works here, and classes of
Unicode (`\p{L}`) do not.

Source: `tf.strings.regex_replace` and `tf.strings.regex_full_match` of TensorFlow 1.15.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from headrace import dtypes
from headrace.graph import Tensor
from headrace.ops.arguments import Input, apply_op
from headrace.ops.inference import check_rank
from headrace.ops.kernel import Array, fail, string_array
from headrace.shapes import bracketed

__all__ = ["regex_full_match", "regex_replace"]

_REFERENCE: Final = re.compile(r"\\(.?)", re.DOTALL)
_GOOD_REWRITE: Final = re.compile(r"(?:[^\\]|\\[\d\\])*", re.DOTALL)

# What Python writes in another way; what is escaped is passed over.
_OF_TENSORFLOW: Final = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\(z)|\[:(\w+):\]|\\.", re.DOTALL)
_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Replaces what a regular expression matches in each string.

    Args:
        input: The strings.
        pattern: The expression, a scalar.
        rewrite: What to put in its place, a scalar; `\0` is the whole match, `\1` to `\9` are its
            groups.
        replace_global: Whether to replace every match; else the first.
        name: Name of the operation.

    Returns:
        Strings of the same shape. A run with an expression or a `rewrite` that is not valid ends
        with InvalidArgumentError.
    """

    def infer(strings: Tensor, *others: Tensor) -> Any:
        for tensor in others:
            check_rank(tensor.shape, 0)
        return [(dtypes.string, strings.shape)]

    def kernel(strings: Array, expression: Array, substitute: Array) -> Any:
        if substitute.ndim:
            fail(f"Rewrite must be scalar, but received {bracketed(substitute.shape)}")
        compiled, text = _compile(expression), _decode(substitute.item())
        if not _GOOD_REWRITE.fullmatch(text):
            fail(f"Invalid rewrite: {text}, expected a digit or a backslash after each backslash")
        changed = [_replace(item, compiled, text, replace_global) for item in strings.flat]
        return string_array(changed, strings.shape)

    inputs = [
        Input("input", input, dtypes.string),
        Input("pattern", pattern, dtypes.string),
        Input("rewrite", rewrite, dtypes.string),
    ]
    attrs = {"replace_global": replace_global}
    op = apply_op("RegexReplace", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Returns for each string whether a regular expression matches all of it.

    Args:
        input: The strings.
        pattern: The expression, a scalar.
        name: Name of the operation.

    Returns:
        Bools of the same shape. A run with an expression that is not valid ends with
        InvalidArgumentError.
    """

    def infer(strings: Tensor, expression: Tensor) -> Any:
        check_rank(expression.shape, 0)
        return [(dtypes.bool, strings.shape)]

    def kernel(strings: Array, expression: Array) -> Any:
        compiled = _compile(expression)
        found = [compiled.fullmatch(_decode(item)) is not None for item in strings.flat]
        return np.array(found, dtype=bool).reshape(strings.shape)

    inputs = [Input("input", input, dtypes.string), Input("pattern", pattern, dtypes.string)]
    return apply_op("RegexFullMatch", inputs, infer, name=name, kernel=kernel).outputs[0]


def _compile(expression: Array) -> re.Pattern[str]:
    if expression.ndim:
        fail(f"Pattern must be scalar, but received {bracketed(expression.shape)}")
    text = _decode(expression.item())
    try:
        return re.compile(_OF_TENSORFLOW.sub(_as_in_python, text), re.ASCII)
    except re.error as error:
        fail(f"Invalid pattern: {text}, error: {error}")


def _as_in_python(found: re.Match[str]) -> str:
    literal, end, name = found.groups()
    if literal is not None:
        return re.escape(literal)
    if name is not None:
        if name not in _CLASSES:
            fail(f"Invalid pattern: {found.string}, error: there is no class [:{name}:]")
        return _CLASSES[name]
    return r"\Z" if end else found.group()


def _decode(text: bytes) -> str:
    return text.decode(errors="surrogateescape")


def _replace(text: bytes, pattern: re.Pattern[str], rewrite: str, is_global: bool) -> bytes:
    if any(name.isdigit() and int(name) > pattern.groups for name in _REFERENCE.findall(rewrite)):
        return text  # as in TensorFlow, which has no group to put there
    found = _decode(text)
    pieces, end = [], 0
    for match in _matches(pattern, found):
        pieces += [found[end : match.start()], _expand(rewrite, match)]
        end = match.end()
        if not is_global:
            break
    return "".join([*pieces, found[end:]]).encode(errors="surrogateescape")


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yields the matches from left to right; an empty one not right after another match."""
    end = -1
    for match in pattern.finditer(text):
        if match.end() > end:
            yield match
        end = match.end()


def _expand(rewrite: str, match: re.Match[str]) -> str:
    def referred(reference: re.Match[str]) -> str:
        name = reference.group(1)
        return (match.group(int(name)) or "") if name.isdigit() else name

    return _REFERENCE.sub(referred, rewrite)
