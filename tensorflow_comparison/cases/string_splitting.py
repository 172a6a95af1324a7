"""Strings: splitting, lengths, changes, searching and joining."""

from typing import Any

from tensorflow_comparison.calls import known, unknown
from tensorflow_comparison.table import case, generated

Call = tuple[str, list[Any], dict[str, Any]]

LINES = ["a b  c", "", " ", "d", "e,f;g", "\u00e9 \u00e8"]

SPLITS: list[Call] = [
    ("string_split", [LINES], {}),
    *[("string_split", [LINES], {"sep": sep})
      for sep in (" ", "", ",", ", ", ",;", "\u00e9", "b ")],
    *[("string_split", [LINES], {"delimiter": sep, "skip_empty": False})
      for sep in (" ", "", ",;")],
    ("string_split", [LINES], {"sep": " ", "delimiter": " "}),
    ("string_split", [LINES, ","], {}),
    ("string_split", [[]], {}),
    ("string_split", ["a b"], {}),
    ("string_split", [[["a b"]]], {}),
    ("string_split", [[1]], {}),
    ("string_split", [LINES], {"sep": [" ", ","]}),
    ("string_split", [LINES], {"skip_empty": "x"}),
    *[("strings.split", [LINES], {"sep": sep, "result_type": "SparseTensor"})
      for sep in (None, "", " ", ",", "b ", "\u00e9", "b  ")],
    *[("strings.split", [LINES], {"maxsplit": n, "result_type": "SparseTensor"})
      for n in (0, 1, 2, -1, -5)],
    *[("strings.split", [LINES], {"sep": " ", "maxsplit": n, "result_type": "SparseTensor"})
      for n in (0, 1, 2)],
    ("strings.split", ["a b"], {"result_type": "SparseTensor"}),
    ("strings.split", [["<>a<>", "<>", "b<><>c"]], {"sep": "<>", "result_type": "SparseTensor"}),
    ("strings.split", [[" a\t\n b\v\fc\r", "\x1c"]], {"result_type": "SparseTensor"}),
]  # fmt: skip

WORDS = ["abc", "\u00e9x\U0001f600", "", "z"]

CHANGES: list[Call] = [
    *[("substr", [["hello", "world"], pos, length], {}) for pos, length in
      ((0, 2), (1, 3), (-3, 2), (-5, 9), (4, 9), (5, 1), (6, 1), (-6, 1), (0, 0), (2, -1))],
    ("substr", [["hello", "world"], [1, 2], [3, 1]], {}),
    ("substr", ["hello", [1, 2], [3, 1]], {}),
    ("substr", [[["ab", "cd"], ["ef", "gh"]], [0, 1], [1, 1]], {}),
    ("substr", [["ab", "cd"], [0, 1, 1], [1, 1, 1]], {}),
    ("substr", [["ab", "cd"], 0, [1, 1]], {}),
    *[("substr", [WORDS[1], pos, length], {"unit": unit}) for pos, length in
      ((0, 1), (1, 2), (-1, 1), (2, 5), (3, 1), (-4, 1)) for unit in ("BYTE", "UTF8_CHAR")],
    ("substr", ["a", 0, 1], {"unit": "WORD"}),
    *[("strings.length", [WORDS], {"unit": unit}) for unit in ("BYTE", "UTF8_CHAR", "x")],
    ("strings.length", ["abc"], {}),
    ("strings.length", [[]], {}),
    *[(name, [["aBc", "\u00c9\u00df", "\xff", "1"]], {"encoding": encoding})
      for name in ("strings.lower", "strings.upper") for encoding in ("", "utf-8", "x")],
    ("strings.lower", ["ABC"], {}),
    ("string_strip", [[" a ", "\t\nb\r\v\f", "", " ", "a b", "\u00a0c", "\0d"]], {}),
    *[("string_to_hash_bucket_fast", [WORDS, n], {}) for n in (1, 10, 2**31, 2**62, 0, -1)],
    ("string_to_hash_bucket_fast", ["abc" * 100, 1000], {}),
    ("strings.to_hash_bucket_fast", [WORDS, 7], {}),
    *[("string_to_hash_bucket", [words, n], {}) for n in (1, 1000, 2**62, 0)
      for words in (WORDS, "abc" * 100, ["a" * length for length in range(20)])],
    ("strings.to_hash_bucket", [], {"input": WORDS, "num_buckets": 9}),
    ("string_to_hash_bucket", [WORDS], {"input": WORDS, "num_buckets": 9}),
    *[("string_to_hash_bucket_strong", [words, n, key], {}) for n in (1, 1000, 2**62, 0)
      for key in ([1, 2], [-1, 2**62], [1])
      for words in (WORDS, "abc" * 100, ["a" * length for length in range(20)])],
    ("string_to_hash_bucket_strong", [WORDS, 9, 5], {}),
    ("strings.to_hash_bucket_strong", [WORDS, 9, (5, 6)], {}),
    *[("encode_base64", [["", "f", "fo", "foo", "foob", "~~?~~>"]], {"pad": pad})
      for pad in (True, False)],
    ("encode_base64", [b"ab"], {}),
    ("io.encode_base64", [5], {}),
    *[("decode_base64", [text], {}) for text in
      ("", "Zg", "Zg==", "Zm8=", "Zm9vYg", "Z", "Zm9vY", "Zh", "Zm9v=", "Z===", "====", "Zg=",
       "Z+/=", "_-_-", " Zg==", "Zm=v", "Zm8=Zm8=", ["Zg", "Zm8"])],
    ("io.decode_base64", [5], {}),
]  # fmt: skip

GRID = [["a", "b"], ["c", "d"]]

JOINS: list[Call] = [
    *[("reduce_join", [GRID, axis], options)
      for axis in (0, 1, -1, -2, [0, 1], [1, 0], [], 2, [0, 0])
      for options in ({}, {"separator": "-"}, {"keep_dims": True})],
    ("reduce_join", [GRID], {}),
    ("reduce_join", ["a"], {}),
    ("reduce_join", [[]], {"axis": 0}),
    ("reduce_join", [[[], []]], {"axis": 1}),
    ("reduce_join", [GRID], {"axis": 0, "reduction_indices": 0}),
    ("reduce_join", [GRID], {"axis": 0, "keep_dims": True, "keepdims": True}),
    ("strings.reduce_join", [GRID], {"axis": 1, "keepdims": True}),
]  # fmt: skip

PATTERNS = [
    ("a", "x"), ("[ab]+", "<\\0>"), ("(a)(b)?", "\\2\\1"), ("", "-"), ("^", "^"), ("$", "$"),
    ("b*", "-"), ("a|b", "\\\\"), ("(", "x"), ("a", "\\1"), ("(?i)A", "x"), (".", "."),
    ("\\d+", "#"), ("\\s", "_"), ("\\w+", "w"), ("[^a]", ""), ("a{2}", "2"),
    ("(?P<n>a)", "\\1"), ("a+?", "x"), ("\\bab", "|"), ("[[:alpha:]]", "A"),
    ("(?:a)(b)", "\\1"), ("\\Qa.b\\E", "q"), ("\\z", "end"), ("(?s).", "s"),
    ("\\p{L}", "L"), ("\\C", "c"),
]  # fmt: skip
BAD_REWRITES = [("a", "\\"), ("a", "\\x")]
SEARCHED = ["ab", "aab b", "", "x\ny", "A1 22", "\u00e9a", "a.b"]


@case(*SPLITS, *CHANGES, *JOINS)
def called(tf: Any, name: str, values: list[Any], options: dict[str, Any]) -> Any:
    """An operation with Python values."""
    return known(tf, name, *values, **options)


@case(*[call for call in [*SPLITS, *CHANGES, *JOINS] if call[1] != [[]]])
def of_unknown_shape(tf: Any, name: str, values: list[Any], options: dict[str, Any]) -> Any:
    """The same with tensors whose shapes are only known at run time."""
    if "hash_bucket" in name or (name.endswith("reduce_join") and len(values) > 1):
        return unknown(tf, name, values[0], axis=values[1]) if "join" in name else None
    return unknown(tf, name, *values, **options)


@case(*[(*pattern, replace_global) for pattern in PATTERNS for replace_global in (True, False)])
def replaced(tf: Any, pattern: str, rewrite: str, replace_global: bool) -> Any:
    """Replaces the matches of a pattern."""
    return tf.regex_replace(SEARCHED, pattern, rewrite, replace_global)


@case(*BAD_REWRITES)
def replaced_badly(tf: Any, pattern: str, rewrite: str) -> Any:
    """A replacement with an invalid backslash sequence."""
    return tf.regex_replace(SEARCHED, pattern, rewrite)


@case(*[(pattern,) for pattern in (*[pattern for pattern, _ in PATTERNS], "a.*", "ab|aab b", ".*")])
def matched(tf: Any, pattern: str) -> Any:
    """Finds strings that fully match a pattern."""
    return tf.strings.regex_full_match(SEARCHED, pattern)


@generated("lines_of_words")
def split_of_any_text(tf: Any, lines: list[bytes], sep: bytes) -> Any:
    """Splits lines in each way."""
    return (
        tf.string_split(lines, sep),
        tf.string_split(lines, sep, skip_empty=False),
        tf.strings.split(lines, sep, result_type="SparseTensor"),
        tf.strings.split(lines, sep, maxsplit=1, result_type="SparseTensor"),
        tf.string_strip(lines),
        tf.strings.length(lines),
        tf.string_to_hash_bucket_fast(lines, 1 << 40),
    )
