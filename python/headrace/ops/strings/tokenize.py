"""Converts text to token numbers with a `tokenizer.json`.

Source: the `tokenizers` crate, on which the PyPI package of the same name is based.
"""

from __future__ import annotations

import os

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import bool_attr
from headrace.ops.strings.tokenizer_files import checked_path, tokenizer_json

__all__ = ["tokenize"]


def tokenize(
    tokenizer: str | os.PathLike[str],
    text: TensorLike,
    add_special_tokens: bool = False,
    truncation: bool = True,
    padding: bool = True,
    name: str | None = None,
) -> Tensor:
    """Converts a text to token numbers, in the same way as the `tokenizers` package.

    The result is the same as `Tokenizer.from_file(tokenizer).encode(text,
    add_special_tokens=...).ids`. The model, the normalizer, added tokens, truncation and padding
    come from the file. Added and special tokens are also recognised if they are written in the
    text.

    The file is read when the function is traced, once for all threads. A pipeline's state includes
    the content of the file.

    Args:
        tokenizer: The path or URL of a `tokenizer.json`, from `Tokenizer.save` of `tokenizers` or
            `save_pretrained` of `transformers`.
        text: A scalar string in UTF-8.
        add_special_tokens: If True, adds special tokens as the file defines, such as one at the
            start.
        truncation: If True, truncates texts as the file defines. If False, texts are never
            truncated.
        padding: If True, pads texts as the file defines.
        name: Name of the operation.

    Returns:
        An int32 vector of token numbers, which start at 0.

    Raises:
        FailedPreconditionError: If the path is a directory.
        InvalidArgumentError: If the file is not a `tokenizer.json`, or uses randomness (dropout).
            When run, if the text is not UTF-8.
        NotFoundError: If the file does not exist.
        TypeError: If `tokenizer` is not a path.
        ValueError: If `text` is not a scalar.
    """
    path = checked_path("tokenize", tokenizer, "tokenizer.json")
    attrs = {
        "path": os.fsencode(path),
        "content": tokenizer_json("tokenize", path),
        "add_special_tokens": bool_attr("add_special_tokens", add_special_tokens),
        "truncation": bool_attr("truncation", truncation),
        "padding": bool_attr("padding", padding),
    }

    def infer(text: Tensor) -> Outputs:
        if text.shape.rank not in (None, 0):
            raise ValueError(
                f"tokenize: text has {text.shape.rank} axes, expected a scalar: a single "
                "text, not a batch. Call tokenize before batch(...)."
            )
        return [(dtypes.int32, TensorShape([None]))]

    inputs = [Input("text", text, dtypes.string)]
    return apply_op("Tokenize", inputs, infer, attrs=attrs, name=name).outputs[0]


define("Tokenize", is_own=True, has_content=True)
