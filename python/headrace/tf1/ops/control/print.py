"""Prints values while a graph runs.

Source: `tf.Print` and `tf.print` in TensorFlow 1.15.
"""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Sequence

from headrace.core.dtypes import string
from headrace.graph import Operation, Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, InputList, Outputs, apply_op
from headrace.ops.framework.excerpt import write_excerpt
from headrace.ops.framework.kernel import Array

__all__ = ["print_text", "print_values"]


def print_values(
    input: TensorLike,
    data: Sequence[TensorLike],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns a tensor unchanged, and prints other tensors to stderr whenever it is computed.

    Args:
        input: The tensor to return.
        data: A list of the tensors to print.
        message: The text to print before the tensors.
        first_n: The number of times to print, in all sessions combined. None or a negative number
            means no limit.
        summarize: The number of elements of each tensor to print. Defaults to 3. A negative number
            prints all elements.
        name: Name of the operation.

    Raises:
        TypeError: If `data` is not a list.
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


def print_text(
    text: TensorLike, output_stream: str = "stderr", end: str = "\n", name: str | None = None
) -> Operation:
    """Adds an operation that prints a text.

    Args:
        text: A scalar string.
        output_stream: "stdout", "stderr", "log(info)", "log(warning)", "log(error)", or
            "file://PATH", which appends to a file.
        end: The text to print at the end.
        name: Name of the operation.

    Raises:
        TypeError: If `end` is not a string.
    """
    if not isinstance(end, str):
        raise TypeError(f"Expected string for argument 'end' not {end!r}.")

    def kernel(value: Array) -> None:
        written = bytes(value[()]).decode(errors="backslashreplace") + end
        if output_stream.startswith(_FILE):
            with open(output_stream.removeprefix(_FILE), "a", encoding="utf-8") as file:
                file.write(written)
        elif output_stream.startswith("log("):
            level = output_stream[len("log(") : -1].upper()
            logging.getLogger("headrace").log(getattr(logging, level), "%s", written)
        else:
            (sys.stdout if output_stream == "stdout" else sys.stderr).write(written)

    attrs = {"output_stream": output_stream, "end": end}
    inputs = [Input("input", text, dtype=string)]
    return apply_op("PrintV2", inputs, lambda _: [], name=name, attrs=attrs, kernel=kernel)


_FILE = "file://"

define("Print", is_stateful=True)
define("PrintV2", is_stateful=True)
