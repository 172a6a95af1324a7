"""Decodes lines and bytes to tensors: `decode_csv`, `decode_raw`."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case, generated

DEFAULTS = {"int32": 7, "int64": 2**40, "float32": 0.5, "string": "none"}


@generated("csv_lines", digits=6)
def csv_of(tf: Any, lines: list[str], columns: list[Any], options: dict[str, Any]) -> Any:
    """Lines in various dialects."""
    defaults = [
        tf.constant([] if kept == "required" else [DEFAULTS[kind]], kind) for kind, kept in columns
    ]
    return tf.decode_csv(lines, defaults, **options)


CSV: list[tuple[Any, Any, dict[str, Any]]] = [
    ("1,2", [[0], [0]], {}),
    ("1,2", [[0.5], ["x"]], {}),
    (",", [[5], ["x"]], {}),
    (",", [[5], ()], {}),
    ("1,2\n", [[0], [0]], {}),
    ("1,2\r\n", [[0], [0]], {}),
    ("1,2,3", [[0], [0]], {}),
    ("1", [[0], [0]], {}),
    ("", [["x"]], {}),
    ('"",1', [["x"], [0]], {}),
    ('"a""b","c,d"', [[""], [""]], {}),
    ('"a', [[""]], {}),
    ('"a"b', [[""]], {}),
    ('a"b', [[""]], {}),
    ('"a",b"', [[""], [""]], {"use_quote_delim": False}),
    ('"a",b"', [[""], [""]], {}),
    ("a b;c", [[""], [""]], {"field_delim": ";"}),
    ("a", [[""]], {"field_delim": ";;"}),
    ("a", [[""]], {"field_delim": ""}),
    ("a", [[""]], {"field_delim": '"'}),
    ("NA,1", [[3], [0]], {"na_value": "NA"}),
    ("NA,1", [[3], [0]], {}),
    ('"NA",1', [["x"], [0]], {"na_value": "NA"}),
    ("1,2,3", [[0], [0]], {"select_cols": [0, 2]}),
    ("1,2,3", [[0], [0]], {"select_cols": [2, 0]}),
    ("1,2,3", [[0], [0]], {"select_cols": [0, 0]}),
    ("1,2,3", [[0], [0]], {"select_cols": [0]}),
    ("1,2,3", [[0], [0]], {"select_cols": [0, 5]}),
    ("1,2,3", [[0], [0]], {"select_cols": [-1, 0]}),
    ("99999999999", [[0]], {}),
    ("99999999999", [np.array([0], np.int64)], {}),
    (" 1 , 2.5 ", [[0], [0.0]], {}),
    ("0x10,1e-3", [[0.0], [0.0]], {}),
    ("true", [[True]], {}),
    ("1", [], {}),
    ("1", [[[0]]], {}),
    ("1", [[0, 1]], {}),
    ("1", [0], {}),
    ("1", 0, {}),
    (["1,2", "3,4"], [[0], [0]], {}),
    ([["1,2"], ["3,4"]], [[0], [0]], {}),
    ([], [[0], [0]], {}),
    (5, [[0]], {}),
]


@case(*CSV)
def csv(tf: Any, lines: Any, defaults: Any, options: dict[str, Any]) -> Any:
    """Lines, defaults and options in edge cases."""
    return tf.decode_csv(lines, defaults, **options)


@case(*[(name,) for name in ("field_delim", "use_quote_delim", "na_value", "select_cols")])
def csv_option_of_the_wrong_type(tf: Any, name: str) -> Any:
    """Options of the wrong type."""
    return tf.decode_csv("1", [[0]], **{name: 3.5})


@case()
def csv_of_no_columns(tf: Any) -> Any:
    """An empty list of columns."""
    return tf.decode_csv("1,2,3", [[0]], select_cols=[])


@case((None,), ([None],), ([2, None],), ([],))
def csv_of_shape(tf: Any, shape: Any) -> Any:
    """The static properties of the columns."""
    columns = tf.decode_csv(tf.placeholder(tf.string, shape, name="lines"), [[0], ["x"]])
    return [(column.name, column.dtype.name, str(column.shape)) for column in columns]


@generated("raw_records")
def raw_of(tf: Any, records: list[bytes], dtype: str, little_endian: bool) -> Any:
    """Bytes as numbers."""
    tensor = tf.constant(records, tf.string)
    return [
        tf.decode_raw(tensor, dtype, little_endian=little_endian),
        tf.decode_raw(records[0] if records else b"", dtype, little_endian),
    ]


@case(
    (b"ab", "float16"),
    (b"ab", "uint32"),
    (b"ab", "string"),
    (b"\0\1", "bool"),
    (b"ab", "bogus"),
    (b"abc", "int16"),
    ([], "uint8"),
    ([b"ab", b"abcd"], "uint8"),
    ([[b"ab"], [b"cd"]], "uint8"),
    (5, "uint8"),
    ([b"", b""], "int32"),
)
def raw(tf: Any, records: Any, dtype: str) -> Any:
    """Valid and invalid types and lengths."""
    return tf.decode_raw(records, dtype)


@case((None,), ([None],), ([2, 3],), ([],))
def raw_of_shape(tf: Any, shape: Any) -> Any:
    """The static properties of the numbers."""
    decoded = tf.decode_raw(tf.placeholder(tf.string, shape), tf.int32, name="numbers")
    return decoded.name, decoded.dtype.name, str(decoded.shape)
