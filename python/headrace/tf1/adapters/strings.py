"""String operations, with the names from TensorFlow 1.

Source: `tf.reduce_join`, `tf.string_split`, `tf.strings.split`, `tf.string_to_hash_bucket` and
`tf.string_to_number` in TensorFlow 1.15.
"""

from typing import Any, cast

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.graph import Tensor, TensorLike
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1 import ops
from headrace.tf1.adapters.arguments import only_one

__all__ = [
    "reduce_join",
    "split_strings",
    "string_length",
    "string_split",
    "string_to_hash_bucket",
    "string_to_number",
    "substr",
]


def reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Calls `ops.reduce_join`. Also accepts `reduction_indices` and `keep_dims`.

    Raises:
        ValueError: If the axis does not exist, or both an old and a new name are given.
    """
    keep = bool(only_one("keepdims", keepdims, "keep_dims", keep_dims))
    axes = only_one("axis", axis, "reduction_indices", reduction_indices)
    return ops.reduce_join(inputs, axes, keep, separator, name)


def string_split(
    source: TensorLike,
    sep: TensorLike | None = None,
    skip_empty: bool = True,
    delimiter: TensorLike | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Calls `ops.split_at_bytes`; `sep` and `delimiter` are names for the same argument.

    Returns:
        A sparse tensor, or, with `result_type="RaggedTensor"`, a `RaggedTensor`.

    Raises:
        ValueError: If `source` is not a vector, or the separators are given twice.
    """
    _check_result_type(result_type)
    if sep is not None and delimiter is not None:
        raise ValueError("Cannot specify both 'delimiter' and 'sep'.")
    separator = delimiter if sep is None else sep
    parts = ops.split_at_bytes(source, " " if separator is None else separator, skip_empty, name)
    return _as(result_type, parts)


def split_strings(
    input: TensorLike | None = None,
    sep: TensorLike | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Calls `ops.string_split`. Also accepts `source`, the old name of `input`.

    Returns:
        A sparse tensor, or, with `result_type="RaggedTensor"`, a `RaggedTensor`.

    Raises:
        ValueError: If `input` has more than one dimension, or is given twice.
    """
    _check_result_type(result_type)
    if input is not None and source is not None:
        raise ValueError("Cannot specify both 'source' and 'input'.")
    text = cast("TensorLike", source if input is None else input)
    return _as(result_type, ops.string_split(text, sep, maxsplit, name))


def _check_result_type(result_type: str) -> None:
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError(
            f"result_type must be 'RaggedTensor' or 'SparseTensor', got {result_type!r}."
        )


def _as(result_type: str, parts: SparseTensor) -> SparseTensor | ops.RaggedTensor:
    return parts if result_type == "SparseTensor" else ops.RaggedTensor.from_sparse(parts)


def string_to_number(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = dtypes.float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.string_to_number`. Also accepts `string_tensor`, the old name of `input`.

    Raises:
        TypeError: If `out_type` is not a type of numbers that can be parsed.
        ValueError: If both names are given.
    """
    text = only_one("input", input, "string_tensor", string_tensor)
    return ops.string_to_number(text, out_type, name)


def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Calls `ops.string_length` with the arguments in their old order."""
    return ops.string_length(input, unit, name)


def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE"
) -> Tensor:
    """Calls `ops.substr` with the arguments in their old order."""
    return ops.substr(input, pos, len, unit, name)


def string_to_hash_bucket(
    string_tensor: TensorLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.string_to_hash_bucket`; `input` is another name for `string_tensor`.

    Raises:
        TypeError: If `num_buckets` is missing.
        ValueError: If both or neither of the names are given, or `num_buckets` is less than 1.
    """
    strings = only_one("input", input, "string_tensor", string_tensor)
    if num_buckets is None:
        raise TypeError("string_to_hash_bucket: num_buckets is None, but it is required.")
    return ops.string_to_hash_bucket(strings, num_buckets, name)
