"""`Example` messages written as JSON.

Source: `tf.decode_json_example` of TensorFlow 1.15.
"""

from typing import Any, Final

import numpy as np
from google.protobuf import json_format

from headrace import dtypes
from headrace.graph import Tensor
from headrace.ops.arguments import Input, apply_op
from headrace.ops.inference import like
from headrace.ops.kernel import Array, fail
from headrace.protos import Example

__all__ = ["decode_json_example"]

_SHOWN_BYTES: Final = 256


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Makes serialized `Example`s of the JSON that stands for them.

    Args:
        json_examples: Strings of any shape, each the JSON of one `Example` by the rules of
            protocol buffers: `{"features": {"feature": {"a": {"int64List": {"value": [1]}}}}}`.
        name: Name of the operation.

    Returns:
        Strings of the same shape, for `parse_example`. A run with something else than such JSON
        ends with InvalidArgumentError.
    """
    inputs = [Input("json_examples", json_examples, dtypes.string)]
    op = apply_op("DecodeJSONExample", inputs, like, name=name, kernel=_decode_all)
    return op.outputs[0]


def _decode_all(texts: Array) -> Array:
    decoded = np.empty(texts.size, dtype=object)
    where = " in element {}" if texts.ndim else ""
    decoded[:] = [
        _decode(text, where.format(index)) for index, text in enumerate(texts.ravel().tolist())
    ]
    return decoded.reshape(texts.shape)


def _decode(text: bytes, where: str) -> bytes:
    try:
        # The library takes an empty list for an empty message.
        if not text.lstrip().startswith(b"{"):
            raise json_format.ParseError("expected '{'")
        message = json_format.Parse(text, Example())
    except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        shown = text[:_SHOWN_BYTES].decode(errors="replace")
        dots = "..." if len(text) > _SHOWN_BYTES else ""
        fail(
            f"Error while parsing JSON: {error}, got '{shown}'{dots}{where}. Give one object with "
            "'features' for each Example."
        )
    serialized: bytes = message.SerializeToString(deterministic=True)
    return serialized
