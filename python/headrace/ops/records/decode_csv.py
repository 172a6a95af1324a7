"""Decodes comma-separated records to one tensor for each column.

Source: `tf.decode_csv` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from headrace.core import dtypes
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, InputList, Outputs, apply_op
from headrace.ops.framework.attributes import bool_attr, string_attr
from headrace.ops.framework.batching import rows_of_first
from headrace.ops.framework.inference import ShapeConflict

__all__ = ["decode_csv"]

_TYPES: Final = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Splits CSV records into fields and returns one tensor per column.

    A quoted field may contain delimiters and line breaks. Quotes inside it are doubled. Numbers may
    have spaces around them.

    Args:
        records: Strings of any shape. Each is one record, without the line break at its end.
        record_defaults: For each column, the value of a missing field: a scalar, a vector of one
            element, or an empty vector if the field is required. Its type is the type of the
            column: float32, float64, int32, int64 or string.
        field_delim: The delimiter between fields, one byte.
        use_quote_delim: If True, fields may be quoted.
        na_value: The text that marks a missing field. Empty fields also count as missing.
        select_cols: The indices of the fields to parse, in ascending order. Defaults to all fields.
        name: Name of the operation.

    Returns:
        A list with one tensor per column, each with the shape of `records`.

    Raises:
        InvalidArgumentError: At run time, if a record has the wrong number of fields, a field is
            not a valid number, a required field is missing, a quote is misplaced, or the delimiter
            is not one byte.
        TypeError: If `record_defaults` is not a list, or has a type that is not supported.
        ValueError: If `record_defaults` is empty, a default has several elements, or `select_cols`
            is not ascending or differs in length from `record_defaults`.

    Examples:
        >>> @hr.native
        ... def parse(example):
        ...     number, name = hr.ops.decode_csv(example["text"], [[0], [""]])
        ...     return {"number": number, "name": name}
        >>> parse({"text": b"3,apple"})
        {'number': np.int32(3), 'name': b'apple'}
    """
    columns = [] if select_cols is None else list(select_cols)
    if any(column >= following for column, following in pairwise(columns)):
        raise ValueError("select_cols is not strictly increasing.")
    if columns and columns[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if not isinstance(record_defaults, (list, tuple)):
        raise TypeError(
            "Expected list for 'record_defaults' argument to 'DecodeCSV' Op, not "
            f"{record_defaults!r}."
        )
    if select_cols is not None and len(columns) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    if not record_defaults:
        raise ValueError(
            "Attr 'OUT_TYPE' of 'DecodeCSV' Op passed list of length 0 less than minimum 1."
        )

    def infer(rows: Tensor, *defaults: Tensor) -> Outputs:
        _check_defaults(defaults)
        return [(default.dtype.base_dtype, rows.shape) for default in defaults]

    inputs: list[Input | InputList] = [
        Input("records", records, dtypes.string),
        InputList(
            "record_defaults", record_defaults, var="OUT_TYPE", allowed=_TYPES, is_mixed=True
        ),
    ]
    attrs = {
        "field_delim": string_attr("field_delim", field_delim),
        "use_quote_delim": bool_attr("use_quote_delim", use_quote_delim),
        "na_value": string_attr("na_value", na_value),
        "select_cols": columns,
    }
    return apply_op("DecodeCSV", inputs, infer, name=name, attrs=attrs).outputs


def _check_defaults(defaults: Sequence[Tensor]) -> None:
    for default in defaults:
        rank = default.shape.rank
        if rank is not None and rank > 1:
            raise ShapeConflict(f"Shape must be at most rank 1 but is rank {rank}")
        if rank and (default.shape.as_list()[0] or 0) > 1:
            raise ShapeConflict(
                "Shape of a default must be a length-0 or length-1 vector, or a scalar."
            )


define("DecodeCSV", batch_rule=rows_of_first)
