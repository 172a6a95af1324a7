import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tf1.ops.readers.reading import Reading

import headrace.tf1 as tf


def lines(data):
    """A model of TensorFlow's reader, which splits a text line by line."""
    *ended, rest = data.split(b"\n")
    last = [rest.removesuffix(b"\r")]
    return [line.removesuffix(b"\r") for line in ended] + (last if last != [b""] else [])


def read_lines(path, skip=0):
    one = Reading(lambda: tf.TextLineReader(skip), [path])
    try:
        return [(int(key.rpartition(b":")[2]), value) for key, value in one.read_all()]
    finally:
        one.end()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"\n\n", [b"", b""]),
        (b"a", [b"a"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\r", [b"a", b"b"]),
        (b"a\r\r\n", [b"a\r"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"\r", []),
        (b"\r\r", [b"\r"]),
        (b"\r\n\n", [b"", b""]),
        (b"\xef\xbb\xbfa\0b\n", [b"\xef\xbb\xbfa\0b"]),
        (b"\xff\xfe\n\x80", [b"\xff\xfe", b"\x80"]),
    ],
)
def test_lines_end_at_a_line_feed_and_lose_one_carriage_return(make_file, data, expected):
    path = make_file("text", data)
    assert read_lines(path) == list(enumerate(expected, 1))
    assert lines(data) == expected


@given(st.lists(st.sampled_from([b"\n", b"\r", b"x", b"\xff", b"\0"])).map(b"".join))
def test_any_text_is_split_like_the_model(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_bytes(data)
    assert read_lines(path) == list(enumerate(lines(data), 1))


@pytest.mark.parametrize("length", [2**18 - 2, 2**18 - 1, 2**18, 2**18 + 1, 2**20 + 1])
def test_lines_can_be_longer_than_a_block(make_file, length):
    text = [b"x" * length, b"", b"y" * length, b"z"]
    assert read_lines(make_file("text", b"\r\n".join(text))) == list(enumerate(text, 1))


@pytest.mark.parametrize(
    ("data", "skip", "expected"),
    [
        (b"a\nb\nc", 1, [(2, b"b"), (3, b"c")]),
        (b"a\nb\nc", 2, [(3, b"c")]),
        (b"a\nb\nc", 3, []),
        (b"a\nb\nc", 2**62, []),
        (b"x" * 2**18 + b"\na\n\r", 1, [(2, b"a")]),
    ],
)
def test_header_lines_count_as_lines(make_file, data, skip, expected):
    assert read_lines(make_file("text", data), skip) == expected


def test_header_is_skipped_in_every_file(make_file, reading):
    paths = [make_file(name, b"header\n%s\n" % name.encode()) for name in "ab"]
    paths.insert(1, make_file("short", b"header"))
    one = reading(lambda: tf.TextLineReader(skip_header_lines=1), paths)
    assert one.read_all() == [(b"%s:2" % bytes(paths[0]), b"a"), (b"%s:2" % bytes(paths[2]), b"b")]
    assert one.counts() == (2, 3)


def test_negative_header_is_rejected_at_run_time(reading, make_file):
    text = "skip_header_lines must be >= 0 not -1"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text) as caught:
        reading(lambda: tf.TextLineReader(-1, name="r"), [make_file("text", b"a")]).read()
    assert caught.value.op.name == "r"


@pytest.mark.parametrize("value", ["a", 1.5, [1]])
def test_skip_header_lines_must_be_a_number(value):
    text = f"Expected int for argument 'skip_header_lines' not {value!r}."
    with pytest.raises(TypeError, match=re.escape(text)):
        tf.TextLineReader(value)
