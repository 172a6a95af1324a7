"""Decoding of records of comma-separated values to a tensor for each column.

Source: `tf.decode_csv` of TensorFlow 1.15.
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
    """Splits CSV records into fields and returns a tensor for each column.

    A field may be quoted; then it may contain delimiters and line ends, and a quote inside is
    doubled. Numbers may have spaces around them.

    Args:
        records: Strings of any shape, each one record without the end of its line.
        record_defaults: For each column the value of a missing field: a scalar, a vector of one
            element, or a vector without elements for a required field. Its type is the
            column's: float32, float64, int32, int64 or string.
        field_delim: The delimiter between fields, one byte.
        use_quote_delim: Whether quotes are special.
        na_value: A field with these bytes counts as missing, like an empty one.
        select_cols: The numbers of the fields to parse, counted from 0, in ascending order; None
            for all.
        name: Name of the operation.

    Returns:
        A list with a tensor of the shape of `records` for each column.

    Raises:
        InvalidArgumentError: When run: a record has another number of fields, a field is no such
            number or missing though required, quotes are misplaced, or the delimiter is not one
            byte.
        TypeError: If the defaults are not a list, or one is of a type that no column can have.
        ValueError: If there are no defaults, a default has several elements, or `select_cols` is
            not ascending or differs from the defaults in length.
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
