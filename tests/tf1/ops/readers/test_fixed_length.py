import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tf1.ops.readers.reading import COMPRESS, Reading

import headrace.tf1 as tf

ALPHABET = bytes(range(65, 91))


def records(data, record, header=0, footer=0, hop=0):
    """A model of TensorFlow's reader, which splits a file record by record."""
    hop = hop or record
    results, start = [], header
    while start <= len(data) and start + record + footer <= len(data):
        results.append(data[start : start + record])
        start += hop
    return results


def read_records(path, *sizes, encoding=None):
    one = Reading(lambda: tf.FixedLengthRecordReader(*sizes, encoding=encoding), [path])
    try:
        return [(int(key.rpartition(b":")[2]), value) for key, value in one.read_all()]
    finally:
        one.end()


@pytest.mark.parametrize("encoding", COMPRESS)
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((10,), [b"ABCDEFGHIJ", b"KLMNOPQRST"]),
        ((4, 3, 2, 5), [b"DEFG", b"IJKL", b"NOPQ", b"STUV"]),
        ((10, 0, 0, 6), [b"ABCDEFGHIJ", b"GHIJKLMNOP", b"MNOPQRSTUV"]),
        ((2, 0, 0, 30), [b"AB"]),
        ((2, 0, 0, 26), [b"AB"]),
        ((23, 0, 1, 1), [ALPHABET[start : start + 23] for start in range(3)]),
        ((5, 0, 6), [b"ABCDE", b"FGHIJ", b"KLMNO", b"PQRST"]),
        ((4, 26), []),
        ((4, 0, 26), []),
        ((0, 3, 0, 5), [b""] * 5),
        ((2**40,), []),
        ((1, 0, 2**62), []),
    ],
)
def test_records_start_one_hop_after_another(make_file, sizes, encoding, expected):
    path = make_file("data", COMPRESS[encoding](ALPHABET))
    assert read_records(path, *sizes, encoding=encoding) == list(enumerate(expected))


small = st.integers(0, 9)


@given(small, st.integers(1, 9), small, small, st.integers(0, 60), st.sampled_from(list(COMPRESS)))
def test_any_sizes_yield_the_records_of_the_model(
    tmp_path_factory, header, record, footer, hop, length, encoding
):
    data = bytes(index % 251 for index in range(length))
    path = tmp_path_factory.mktemp("data") / "data"
    path.write_bytes(COMPRESS[encoding](data))
    expected = list(enumerate(records(data, record, header, footer, hop)))
    if header <= length:
        assert read_records(path, record, header, footer, hop, encoding=encoding) == expected


def test_records_can_be_larger_than_a_block(make_file):
    data = b"".join(bytes([n]) * 400_000 for n in range(3))
    expected = list(enumerate(records(data, 500_000, 1, 2, 300_000)))
    for encoding, compress in COMPRESS.items():
        path = make_file("data", compress(data))
        assert read_records(path, 500_000, 1, 2, 300_000, encoding=encoding) == expected


def test_zero_length_records_never_end(make_file, reading):
    path = make_file("data", b"")
    one = reading(lambda: tf.FixedLengthRecordReader(0), [path])
    assert one.read_up_to(3) == [(b"%s:%d" % (bytes(path), n), b"") for n in range(3)]


@pytest.mark.parametrize("encoding", ["BZ2", "gzip", "NONE", "", None, b""])
def test_unknown_encoding_means_no_compression(make_file, encoding):
    assert read_records(make_file("data", b"abcd"), 2, encoding=encoding) == [
        (0, b"ab"),
        (1, b"cd"),
    ]


@pytest.mark.parametrize("encoding", COMPRESS)
def test_file_shorter_than_its_header_ends_the_input(make_file, reading, encoding):
    short, good = make_file("short", COMPRESS[encoding](b"abc")), make_file("good", b"")
    good.write_bytes(COMPRESS[encoding](b"header1234"))
    one = reading(lambda: tf.FixedLengthRecordReader(4, 6, encoding=encoding), [short, good])
    error = one.error()
    assert isinstance(error, tf.errors.OutOfRangeError)
    text = f"{short}: reached end of file after 3 bytes, expected a header of 6 bytes. Check header"
    assert error.message.startswith(text)
    assert one.counts() == (0, 0)
    assert one.read() == (b"%s:0" % bytes(good), b"1234")


@pytest.mark.parametrize("size", ["record_bytes", "header_bytes", "footer_bytes", "hop_bytes"])
def test_negative_sizes_are_rejected_at_run_time(reading, size):
    sizes = {"record_bytes": 2, size: -1}
    text = f"{size} must be >= 0 not -1"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        reading(lambda: tf.FixedLengthRecordReader(**sizes)).read()


@pytest.mark.parametrize("value", ["a", None, 1.5])
def test_sizes_must_be_numbers(value):
    text = f"Expected int for argument 'record_bytes' not {value!r}."
    with pytest.raises(TypeError, match=re.escape(text)):
        tf.FixedLengthRecordReader(value)
    with pytest.raises(TypeError, match=re.escape("Expected string for argument 'encoding' not 3")):
        tf.FixedLengthRecordReader(1, encoding=3)


def test_sizes_and_encoding_are_attributes():
    op = tf.FixedLengthRecordReader(3, hop_bytes=4.0, encoding="GZIP", name="r").reader_ref.op
    assert (op.name, op.type) == ("r", "FixedLengthRecordReaderV2")
    names = ("record_bytes", "header_bytes", "footer_bytes", "hop_bytes", "encoding")
    assert [op.get_attr(name) for name in names] == [3, 0, 0, 4, b"GZIP"]
