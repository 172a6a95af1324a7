"""Formats tensors as text.

Source: `tf.strings.format` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from headrace.core.dtypes import string
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import InputList, apply_op
from headrace.ops.framework.excerpt import write_summary
from headrace.ops.framework.kernel import Array

__all__ = ["string_format"]


def string_format(
    template: str,
    inputs: TensorLike | Sequence[TensorLike],
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """Inserts tensors into a text.

    Args:
        template: The text, with a placeholder for each tensor.
        inputs: A list of tensors, or a single tensor.
        placeholder: The text that is replaced with a tensor.
        summarize: The number of elements to write at each end of each axis. -1 writes all elements.
        name: Name of the operation.

    Returns:
        A scalar string.

    Raises:
        ValueError: If the numbers of placeholders and tensors differ.
    """
    is_single = isinstance(inputs, (Tensor, np.ndarray)) or not isinstance(inputs, Sequence)
    tensors: list[Any] = [inputs] if is_single else list(cast("Sequence[Any]", inputs))
    num_placeholders = template.count(placeholder)
    if num_placeholders != len(tensors):
        raise ValueError(
            f"The template expects {num_placeholders} tensors, "
            f"but the inputs only has {len(tensors)}. "
            "Please ensure the number of placeholders in template matches inputs length."
        )
    parts = template.split(placeholder)

    def kernel(*values: Array) -> Array:
        words = [write_summary(value, summarize) for value in values]
        text = parts[0] + "".join(map("".join, zip(words, parts[1:], strict=True)))
        return np.array(text.encode(), dtype=object)

    attrs = {"template": template, "placeholder": placeholder, "summarize": summarize}
    op_inputs = [InputList("inputs", tensors, is_mixed=True)]
    outputs = [(string, TensorShape([]))]
    op = apply_op(
        "StringFormat", op_inputs, lambda *_: outputs, name=name, attrs=attrs, kernel=kernel
    )
    return op.outputs[0]


define("StringFormat")
