"""Splitting strings at separators.

Source: `tf.string_split` and `tf.strings.split` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define, name_scope
from headrace.ops.array.reshape import expand_dims
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.attributes import bool_attr
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.framework.inference import check_rank
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["split_at_bytes", "string_split"]


def split_at_bytes(
    input: TensorLike,
    separators: TensorLike = " ",
    skip_empty: bool = True,
    name: str | None = None,
) -> SparseTensor:
    """Splits strings at each of several separator bytes.

    Args:
        input: A vector of strings.
        separators: The separator bytes, a scalar string. If it is empty, strings are split into
            single bytes.
        skip_empty: If True, empty parts are skipped.
        name: Name of the scope.

    Returns:
        A sparse tensor with one row of parts per string.

    Raises:
        ValueError: If `input` is not a vector.
    """
    attrs = {"skip_empty": bool_attr("skip_empty", skip_empty)}
    with name_scope(name, "StringSplit", [input, separators]):
        strings = convert_to_tensor(input, dtype=dtypes.string)
        return _split("StringSplit", strings, ("delimiter", separators), attrs)


def string_split(
    input: TensorLike, sep: TensorLike | None = None, maxsplit: int = -1, name: str | None = None
) -> SparseTensor:
    """Splits strings at a separator, as `str.split` does.

    Args:
        input: A vector of strings. A scalar counts as a vector of one string.
        sep: The separator, a scalar string. If it is None or "", strings are split at white space.
        maxsplit: The maximum number of splits per string. If negative, there is no limit.
        name: Name of the scope.

    Returns:
        A sparse tensor with one row of parts per string.

    Raises:
        ValueError: If `input` has more than one axis.
    """
    separator = "" if sep is None else sep
    with name_scope(name, "StringSplit", [input, separator]):
        strings = convert_to_tensor(input, dtype=dtypes.string, name="input")
        if strings.shape.rank == 0:
            strings = expand_dims(strings, 0)
        return _split("StringSplitV2", strings, ("sep", separator), {"maxsplit": int(maxsplit)})


def _split(
    op_type: str, strings: Tensor, separator: tuple[str, Any], attrs: dict[str, Any]
) -> SparseTensor:
    def infer(strings: Tensor, separator: Tensor) -> Outputs:
        check_rank(strings.shape, 1)
        check_rank(separator.shape, 0)
        return [
            (dtypes.int64, TensorShape([None, 2])),
            (dtypes.string, TensorShape([None])),
            (dtypes.int64, TensorShape([2])),
        ]

    inputs = [Input("input", strings, dtypes.string), Input(*separator, dtypes.string)]
    return SparseTensor(*apply_op(op_type, inputs, infer, attrs=attrs).outputs)


define("StringSplit")
define("StringSplitV2")
