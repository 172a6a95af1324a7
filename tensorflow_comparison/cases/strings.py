"""Strings: joining, and converting numbers to text and back."""

import gzip
import zlib
from typing import Any

import numpy as np

from tensorflow_comparison.calls import known, unknown
from tensorflow_comparison.table import case


@case(
    *[([["a", "b"], ["c", "d"]], separator) for separator in ("", ", ", b"\xff", "\u00e9")],
    (["a", ["b", "c"]], "-"),
    ([["a", "b"], ["c"]], "-"),
    ([["a"], "b", [["c"]]], "-"),
    (["a"], "-"),
    ([1, 2], "-"),
    ("ab", "-"),
)
def joined(tf: Any, values: Any, separator: Any) -> Any:
    """Joins strings element by element, and a scalar with each."""
    return tf.string_join(values, separator)


@case()
def nothing_joined(tf: Any) -> Any:
    """An empty list of strings."""
    return tf.string_join([])


NUMBERS: dict[str, Any] = {
    "bool": [True, False],
    "int8": [-128, 127],
    "int32": [-5, 0, 2147483647],
    "int64": [-(2**63), 2**63 - 1],
    "float32": [0.1, 1e20, -1.5, np.nan, np.inf, 1e-7],
    "float64": [0.1, 1e300, 123456.789, -np.inf, -0.0],
    "complex64": [1 + 2j],
}


@case(*[(dtype, {}) for dtype in NUMBERS], *[(dtype, options) for dtype in ("float32", "int32")
        for options in ({"precision": 2}, {"width": 8}, {"width": 8, "fill": "0"}, {"fill": "x0"},
                        {"scientific": True}, {"shortest": True}, {"width": 3, "fill": "-"},
                        {"scientific": True, "shortest": True}, {"width": 9, "precision": 3},
                        {"fill": "7"}, {"width": 6, "fill": "+"}, {"width": 5, "fill": " "})]
)  # fmt: skip
def written(tf: Any, dtype: str, options: dict[str, Any]) -> Any:
    """Numbers as text."""
    return tf.as_string(tf.constant(NUMBERS[dtype], dtype), **options)


@case(*[(text, dtype) for dtype in ("float32", "float64", "int32", "int64") for text in
        ("1", "-7", " 8 ", "+9", "1.5", "1e3", "", "abc", "0x1f", "nan", "-inf", "3000000000",
         "1e400", "1_0", "9223372036854775808", "1.", ".5", "1 2")])  # fmt: skip
def read(tf: Any, text: str, dtype: str) -> Any:
    """Text as numbers."""
    return tf.string_to_number([text], dtype)


@case(("a",), ([["a"]],), (1,), (["1", "2"],))
def read_shapes(tf: Any, value: Any) -> Any:
    """The static shapes of the results."""
    return [call(tf, "string_to_number", ["3", "4"]) for call in (known, unknown)] + [
        tf.string_to_number(value)
    ]


@case(
    ("a\u00e9",),
    (b"\xff\x00",),
    (["a", b"b"],),
    ([["a"], ["b", "c"]],),
    (["a", 1],),
    ([1, "a"],),
    (["a", None],),
    (np.array(["a", "bcd"]),),
    (np.array([b"a\x00", b"b"]),),
    (np.array(["a", 1], object),),
)
def constant_of(tf: Any, value: Any) -> Any:
    """Values that are accepted as strings."""
    return tf.constant(value), tf.placeholder_with_default(value, None)


@case(*[(payload, kind) for payload in (b"", b"abc" * 50) for kind in ("", "ZLIB", "GZIP", "X")])
def decompressed(tf: Any, payload: bytes, kind: str) -> Any:
    """Compressed and uncompressed strings."""
    packed = {"ZLIB": zlib.compress(payload), "GZIP": gzip.compress(payload)}.get(kind, payload)
    return tf.decode_compressed([packed, packed], kind)


@case(*[(kind,) for kind in ("ZLIB", "GZIP")])
def decompressed_junk(tf: Any, kind: str) -> Any:
    """Strings that are not compressed at all."""
    return tf.decode_compressed([b"junk junk junk junk"], kind)
