"""`tf.print`: prints tensors, and structures of tensors, during a run."""

import sys
from collections.abc import Callable
from pprint import pformat
from typing import Any, Final

from headrace.graph import Operation, Tensor
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1 import logging, ops
from headrace.tf1.contrib.framework import nest

__all__ = ["print_v2"]

_LEVELS: Final[dict[Callable[..., None], str]] = {
    logging.info: "log(info)",
    logging.warning: "log(warning)",
    logging.error: "log(error)",
}
_NAMES: Final = {"stdout", "stderr", *_LEVELS.values()}


def print_v2(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
    **unknown: object,
) -> Operation:
    """Adds an operation that prints tensors and other values.

    Args:
        *inputs: Tensors, strings, numbers, or lists, tuples and dicts of these.
        output_stream: `sys.stdout`, `sys.stderr`, a function of `tf.logging`, or "file://PATH",
            which appends to a file. Defaults to `sys.stderr`.
        summarize: The number of elements to print at each end of each axis. -1 prints all elements.
        sep: The text to print between inputs.
        end: The text to print at the end.
        name: Name of the operation.
        **unknown: Not supported.

    Returns:
        The operation. Run it, or make other operations wait for it.

    Raises:
        TypeError: If `end` is not a string.
        ValueError: If the stream does not exist, or a keyword argument is unknown.
    """
    if unknown:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {unknown}")
    stream = _stream(output_stream)
    first = inputs[0] if len(inputs) == 1 else None
    if isinstance(first, Tensor) and first.shape.rank == 0 and first.dtype.name == "string":
        text: Any = first
    else:
        text = _formatted(inputs, summarize, sep, name)
    return ops.print_text(text, stream, end, name=name)


def _stream(stream: Any) -> str:
    if stream is None or stream is sys.stderr:
        return "stderr"
    if stream is sys.stdout:
        return "stdout"
    if isinstance(stream, str) and (stream in _NAMES or stream.startswith("file://")):
        return stream
    if callable(stream) and stream in _LEVELS:
        return _LEVELS[stream]
    raise ValueError(
        f"Unsupported output stream, logging level, or file.{stream}. Supported streams are "
        "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File needs "
        "to be in the form of 'file://<filepath>'."
    )


def _formatted(inputs: tuple[Any, ...], summarize: int, sep: str, name: str | None) -> Tensor:
    """Formats several values like `pprint`, with text in place of each tensor."""
    mark = "{}"
    while mark in "".join(pformat(each) for each in inputs):
        mark += "@"
    tensors: list[Tensor] = []

    def marked(value: Any) -> Any:
        if isinstance(value, SparseTensor):
            tensors.extend([value.indices, value.values, value.dense_shape])
            return f"SparseTensor(indices={mark}, values={mark}, shape={mark})"
        if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
            tensors.append(ops.convert_to_tensor(value))
            return mark
        return value

    texts = []
    for each in inputs:
        flat = [marked(value) for value in nest.flatten(each)]
        is_text = isinstance(each, str)
        texts.append(flat[0] if is_text else pformat(nest.pack_sequence_as(each, flat)))
    template = sep.join(texts).replace(f"'{mark}'", mark)
    return ops.string_format(
        template, tensors, mark, summarize, name=f"{name}_format" if name else None
    )
