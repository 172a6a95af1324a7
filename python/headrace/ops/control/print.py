"""Printing values while a graph runs.

Source: `tf.Print` of TensorFlow 1.15.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence

from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, InputList, Outputs, apply_op
from headrace.ops.framework.excerpt import write_excerpt
from headrace.ops.framework.kernel import Array

__all__ = ["print_values"]


def print_values(
    input: TensorLike,
    data: Sequence[TensorLike],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns a tensor unchanged, and prints others to stderr whenever a run computes it.

    Args:
        input: The tensor to return.
        data: A list of the tensors to print.
        message: What to print before them.
        first_n: How many times to print, over all sessions; None or negative for always.
        summarize: How many elements of each to print; None for 3, negative for all.
        name: Name of the operation.

    Raises:
        TypeError: If `data` is no list.
    """
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"Expected list for 'data' argument to 'Print' Op, not {data!r}.")
    limit = 3 if summarize is None else summarize
    most = -1 if first_n is None else first_n
    calls = itertools.count()

    def infer(tensor: Tensor, *_: Tensor) -> Outputs:
        return [(tensor.dtype.base_dtype, tensor.shape)]

    def kernel(array: Array, *values: Array) -> Array:
        if most < 0 or next(calls) < most:
            shown = "".join(f"[{write_excerpt(value, limit)}]" for value in values)
            sys.stderr.write(f"{message or ''}{shown}\n")
        return array

    inputs: list[Input | InputList] = [
        Input("input", input),
        InputList("data", data, var="U", is_mixed=True),
    ]
    attrs = {
        "message": message or "",
        "first_n": most,
        "summarize": limit,
    }
    return apply_op("Print", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


define("Print", is_stateful=True)
