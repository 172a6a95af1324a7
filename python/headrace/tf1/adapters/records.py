"""Record decoding, with the names from TensorFlow 1.

Source: `tf.decode_raw` in TensorFlow 1.15.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from headrace.core.dtypes import DTypeLike
from headrace.graph import Tensor, TensorLike
from headrace.tf1 import ops

__all__ = [
    "decode_csv",
    "decode_raw",
    "parse_example",
    "parse_single_example",
]


def decode_raw(
    input_bytes: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,
) -> Tensor:
    """Calls `ops.decode_raw`. Also accepts `bytes`, the old name of `input_bytes`.

    Raises:
        TypeError: If the type does not exist.
        ValueError: If both or neither of `input_bytes` and `bytes` are given.
    """
    if bytes is not None:
        if input_bytes is not None:
            raise ValueError("Cannot specify both 'bytes' and 'input_bytes'.")
        input_bytes = bytes
    if out_type is None:
        raise ValueError("decode_raw() missing 1 positional argument: 'out_type'")
    return ops.decode_raw(cast("TensorLike", input_bytes), out_type, little_endian, name)


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Calls `ops.decode_csv` with the arguments in their old order."""
    return ops.decode_csv(
        records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, name
    )


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Calls `ops.parse_example` with the arguments in their old order."""
    return ops.parse_example(serialized, features, example_names, name)


def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Calls `ops.parse_single_example` with the arguments in their old order."""
    return ops.parse_single_example(serialized, features, example_names, name)
