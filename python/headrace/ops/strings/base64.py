"""Base64 encoding with the alphabet that is safe in URLs and file names.

Source: `tf.encode_base64` and `tf.decode_base64` in TensorFlow 1.15; RFC 4648, section 5.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import bool_attr
from headrace.ops.framework.batching import elementwise

__all__ = ["decode_base64", "encode_base64"]


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Encodes strings as URL-safe base64, with `-` and `_` instead of `+` and `/`.

    Args:
        input: The strings.
        pad: If True, `=` is appended until the length is a multiple of four.
        name: Name of the operation.

    Returns:
        Strings of the same shape.

    Raises:
        TypeError: If `input` does not contain strings.
    """
    attrs = {"pad": bool_attr("pad", pad)}
    inputs = [Input("input", input, dtypes.string)]
    return apply_op("EncodeBase64", inputs, _infer, name=name, attrs=attrs).outputs[0]


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Decodes URL-safe base64 strings, which use `-` and `_`, with or without padding.

    Args:
        input: The strings.
        name: Name of the operation.

    Returns:
        Strings of the same shape.

    Raises:
        InvalidArgumentError: At run time, if a string contains a character that base64 does not
            use.
        TypeError: If `input` does not contain strings.
    """
    inputs = [Input("input", input, dtypes.string)]
    return apply_op("DecodeBase64", inputs, _infer, name=name).outputs[0]


def _infer(strings: Tensor) -> Outputs:
    return [(dtypes.string, strings.shape)]


define("DecodeBase64", batch_rule=elementwise)
define("EncodeBase64", batch_rule=elementwise)
