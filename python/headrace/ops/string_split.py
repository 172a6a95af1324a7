"""Strings taken apart at separators.

Source: `tf.string_split` and `tf.strings.split` of TensorFlow 1.15.
"""

from typing import Any

from headrace import dtypes
from headrace.graph import Tensor, name_scope
from headrace.ops.arguments import Input, apply_op
from headrace.ops.attributes import bool_attr
from headrace.ops.conversion import convert_to_tensor
from headrace.ops.inference import check_rank
from headrace.ops.shaping import expand_dims
from headrace.ops.sparse import SparseTensor
from headrace.shapes import TensorShape

__all__ = ["split_strings", "string_split"]


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """Splits strings wherever one of several bytes stands.

    Args:
        source: A vector of strings.
        sep: The bytes that separate, a scalar string; None for a space, "" to separate all bytes.
        skip_empty: Whether parts without a byte are left out.
        delimiter: The old name of `sep`.
        result_type: "SparseTensor"; there are no ragged tensors here.
        name: Name of the scope.

    Returns:
        A sparse tensor with a row of parts for each string.

    Raises:
        ValueError: If `source` is no vector, or `sep` is given twice.
    """
    _check_result_type(result_type)
    if sep is not None and delimiter is not None:
        raise ValueError("Cannot specify both 'delimiter' and 'sep'.")
    given = delimiter if sep is None else sep
    separator = " " if given is None else given
    attrs = {"skip_empty": bool_attr("skip_empty", skip_empty)}
    with name_scope(name, "StringSplit", [source, separator]):
        source = convert_to_tensor(source, dtype=dtypes.string)
        return _split("StringSplit", source, ("delimiter", separator), attrs)


def split_strings(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensor:
    """Splits strings wherever a word stands, as `str.split` does.

    Args:
        input: A vector of strings, or a scalar, which counts as a vector of one.
        sep: What separates, a scalar string; None or "" for any run of white space.
        maxsplit: How often to split a string at most; negative for no limit.
        result_type: "SparseTensor"; there are no ragged tensors here.
        source: The old name of `input`.
        name: Name of the scope.

    Returns:
        A sparse tensor with a row of parts for each string.

    Raises:
        ValueError: If `input` has more than one dimension, or is given twice.
    """
    _check_result_type(result_type)
    if input is not None and source is not None:
        raise ValueError("Cannot specify both 'source' and 'input'.")
    given = source if input is None else input
    separator = "" if sep is None else sep
    with name_scope(name, "StringSplit", [given, separator]):
        strings = convert_to_tensor(given, dtype=dtypes.string, name="input")
        if strings.shape.rank == 0:
            strings = expand_dims(strings, 0)
        return _split("StringSplitV2", strings, ("sep", separator), {"maxsplit": int(maxsplit)})


def _split(
    op_type: str, strings: Any, separator: tuple[str, Any], attrs: dict[str, Any]
) -> SparseTensor:
    def infer(strings: Tensor, separator: Tensor) -> Any:
        check_rank(strings.shape, 1)
        check_rank(separator.shape, 0)
        return [
            (dtypes.int64, TensorShape([None, 2])),
            (dtypes.string, TensorShape([None])),
            (dtypes.int64, TensorShape([2])),
        ]

    inputs = [Input("input", strings, dtypes.string), Input(*separator, dtypes.string)]
    return SparseTensor(*apply_op(op_type, inputs, infer, attrs=attrs).outputs)


def _check_result_type(result_type: str) -> None:
    if result_type != "SparseTensor":
        raise ValueError(
            "result_type must be 'RaggedTensor' or 'SparseTensor', and there are no ragged tensors "
            f"here; got {result_type!r}. Use 'SparseTensor'."
        )
