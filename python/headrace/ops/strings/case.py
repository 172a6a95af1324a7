"""Changing the case of strings, and stripping them.

Source: `tf.strings.lower`, `upper` and `strip` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.core import dtypes
from headrace.graph import KernelKind, Operation, Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.batching import elementwise
from headrace.ops.framework.inference import like
from headrace.ops.framework.kernel import Array, by_either, fail, string_array

__all__ = ["string_lower", "string_strip", "string_upper"]


_SPACES: Final = b" \t\n\v\f\r"


def string_lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Converts strings to lower case.

    Args:
        input: The strings.
        encoding: "utf-8" converts the letters of all languages, and "" only ASCII letters.
        name: Name of the operation.
    """
    return _change_case("StringLower", input, encoding, name, bytes.lower, str.lower)


def string_upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Converts strings to upper case.

    Args:
        input: The strings.
        encoding: "utf-8" converts the letters of all languages, and "" only ASCII letters.
        name: Name of the operation.
    """
    return _change_case("StringUpper", input, encoding, name, bytes.upper, str.upper)


def string_strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Removes white space from both ends of each string."""
    return _map_strings("StringStrip", input, name, lambda text: text.strip(_SPACES))


def _map_strings(
    op_type: str,
    input: TensorLike,
    name: str | None,
    function: Callable[[bytes], bytes],
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    """Adds an operation that changes each string separately.

    Args:
        op_type: The type of the operation.
        input: The strings.
        name: The name of the operation.
        function: The function to apply to each string.
        attrs: The attributes of the operation.
    """

    def kernel(strings: Array) -> Array:
        return string_array([function(text) for text in strings.flat], strings.shape)

    inputs = [Input("input", input, dtypes.string)]
    op = apply_op(op_type, inputs, like, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def _change_case(
    op_type: str,
    input: TensorLike,
    encoding: str,
    name: str | None,
    of_bytes: Callable[[bytes], bytes],
    of_text: Callable[[str], str],
) -> Tensor:
    encoding = encoding.decode() if isinstance(encoding, bytes) else encoding or ""

    def change(text: bytes) -> bytes:
        if encoding not in ("", "utf-8"):
            fail(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        return of_text(text.decode(errors="replace")).encode() if encoding else of_bytes(text)

    return _map_strings(op_type, input, name, change, {"encoding": encoding})


def _computed_case(op: Operation) -> KernelKind:
    """Returns NumPy for UTF-8 in sessions, because the engine may use a newer Unicode version."""
    return KernelKind.BY_NUMPY_IN_SESSIONS if op.attrs["encoding"] else KernelKind.BY_EITHER


define("StringLower", computed=_computed_case, batch_rule=elementwise)
define("StringStrip", computed=by_either, batch_rule=elementwise)
define("StringUpper", computed=_computed_case, batch_rule=elementwise)
