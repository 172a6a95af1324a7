"""Code points, characters and scripts of strings, and ragged tensors of them."""

from typing import Any

import numpy as np

from tensorflow_comparison.table import case

_TEXTS = [
    *(b"", b"abc", "h\u00e9llo \u4e16\u754c \U0001f600".encode(), b"a\xffb\xe2\x82c\x01\x1f \x7f"),
    *(b"\xed\xa0\x80\xf4\x90\x80\x80\xf0\x80\x80\xc0\x80", b"\xef\xbf\xbe\xef\xbf\xbd\xe2\x82"),
    *(bytes(range(256)), np.random.default_rng(5).bytes(300)),
]
_RULES = [
    *({}, {"errors": "ignore"}, {"errors": "strict"}, {"replacement_char": 0x263A}),
    *({"replace_control_characters": True, "replacement_char": 63},),
    *({"replace_control_characters": True, "errors": "ignore"},),
    *({"replace_control_characters": True, "errors": "strict"},),
]


def rows_of(tf: Any, *fetches: Any) -> Any:
    """Returns the values of tensors, and of ragged tensors as lists."""
    with tf.Session() as session:
        values = session.run(list(fetches))
    return [
        [list(value.shape), str(value.dtype), value.to_list(), [s.tolist() for s in splits]]
        if (splits := getattr(value, "nested_row_splits", None)) is not None
        else value
        for value in values
    ]


@case(*[(text, rules) for text in range(len(_TEXTS)) for rules in _RULES])
def of_utf8(tf: Any, text: int, rules: dict[str, Any]) -> Any:
    """Valid, invalid and control characters."""
    value = _TEXTS[text]
    points, offsets = tf.strings.unicode_decode_with_offsets(value, "UTF-8", **rules)
    plain = tf.strings.unicode_decode(value, "UTF-8", **rules)
    coded = [
        tf.strings.unicode_transcode(value, "UTF-8", encoding, **rules)
        for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
    ]
    return rows_of(tf, points, offsets, plain, *coded)


@case(
    *[
        (encoding, errors)
        for encoding in ("UTF-16-BE", "UTF-32-BE")
        for errors in ("replace", "ignore")
    ],
    *[(encoding, "replace") for encoding in ("ISO-8859-1", "US-ASCII", "windows-1252", "utf8")],
)
def of_other_encodings(tf: Any, encoding: str, errors: str) -> Any:
    """Strings with two and four bytes per character, invalid ones, and single bytes."""
    texts = [
        *(
            b"\0a\xd8\0\0b\0",
            b"\xd8=\xde\0\xdc\0\0z",
            b"\0\0\0a\0\0",
            b"\0\x11\0\0\0\0\xd8\0\0\0\0z",
        ),
        *(b"caf\xe9 \x80", b""),
    ]
    return rows_of(tf, *tf.strings.unicode_decode_with_offsets(texts, encoding, errors))


@case(("SHIFT_JIS", b"a\x82\xa0b"), ("GBK", b"\xc4\xe3x"), ("EUC-JP", b"\xa4\xa2a"))
def of_several_bytes(tf: Any, encoding: str, text: bytes) -> Any:
    """Characters of one and two bytes."""
    points, offsets = tf.strings.unicode_decode_with_offsets([text], encoding)
    return rows_of(tf, points, offsets, tf.strings.unicode_transcode(text, encoding, "UTF-8"))


@case(
    (["ab", "", "c\u00e9"],),
    ([["a", "bc"], ["", "d"]],),
    ([[["x"], ["yz"]], [["\u4e16\u754c"], [""]]],),
    ([],),
    ([[], []],),
)
def in_rows(tf: Any, texts: Any) -> Any:
    """Strings of several ranks that are split, decoded and encoded again."""
    tensor = tf.constant(texts, tf.string)
    points = tf.strings.unicode_decode(tensor, "UTF-8")
    characters, offsets = tf.strings.unicode_split_with_offsets(tensor, "UTF-8")
    again = tf.strings.unicode_encode(points, "UTF-8")
    facts = points.ragged_rank, points.dtype.name, points.shape.ndims, characters.shape.ndims
    parts = characters, tf.strings.unicode_split(tensor, "UTF-8"), offsets, points, again
    return facts, rows_of(tf, *parts)


@case((["ab", "", "c\u00e9x"],), ([["a", "bc"], ["", "def"]],))
def made_dense(tf: Any, texts: Any) -> Any:
    """Rows of ragged tensors as dense and sparse tensors."""
    points = tf.strings.unicode_decode(tf.constant(texts), "UTF-8")
    characters = tf.strings.unicode_split(tf.constant(texts), "UTF-8")
    sparse = points.to_sparse()
    numbers = points.nrows(), points.row_lengths(), points.row_starts(), points.row_limits()
    return rows_of(
        *(tf, points.to_tensor(), points.to_tensor(-1), characters.to_tensor("_")),
        *(characters.to_tensor(), sparse.indices, sparse.values, sparse.dense_shape),
        *(*numbers, points.bounding_shape(), points.value_rowids(), points.flat_values),
    )


@case(
    *[
        (points, encoding, errors)
        for points in (
            *([97, 0xFFFE, 0xD800, 0x110000, -1, 0x1F600, 0, 98], []),
            *([[72, 105], [0x4E16, 0x754C]], [[[97], [98]], [[-5], [100]]]),
        )
        for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
        for errors in ("replace", "ignore", "strict")
    ]
)
def made_of_code_points(tf: Any, points: Any, encoding: str, errors: str) -> Any:
    """Code points of several ranks, and numbers that are not code points."""
    strings = tf.strings.unicode_encode(tf.constant(points, tf.int32), encoding, errors, 63)
    return strings.shape.as_list(), rows_of(tf, strings)


@case()
def scripts(tf: Any) -> Any:
    """The script of every code point, and of numbers that are not code points."""
    points = np.array([*range(-2, 0x110002), 2**31 - 1, -(2**31)], np.int32)
    return tf.strings.unicode_script(points)


@case(
    ("unicode_transcode", "UTF-8", "UTF-16"),
    ("unicode_transcode", "UTF-8", "UTF-8", "loose"),
    ("unicode_decode", "UTF-8", "loose"),
    ("unicode_encode", "latin1"),
    ("unicode_split", "ISO-8859-1"),
)
def of_no_such_kind(tf: Any, name: str, *arguments: Any) -> Any:
    """Encodings and rules that do not exist."""
    tensor = tf.constant([97]) if name == "unicode_encode" else tf.constant("a")
    return getattr(tf.strings, name)(tensor, *arguments)


@case(("unicode_decode", "string"), ("unicode_encode", "int32"), ("unicode_encode", "float32"))
def of_unknown_rank(tf: Any, name: str, dtype: str) -> Any:
    """Operations that need a known rank, and numbers of another type."""
    return getattr(tf.strings, name)(tf.placeholder(dtype), "UTF-8")


@case(("split", ["a b", "", "c"]), ("string_split", ["a b", "", " c  d"]), ("split", "a b"))
def parts_in_rows(tf: Any, name: str, texts: Any) -> Any:
    """Strings that are split into ragged tensors."""
    split = tf.strings.split if name == "split" else tf.string_split
    return rows_of(tf, split(texts, result_type="RaggedTensor"))
