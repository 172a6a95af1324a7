"""Sources: the files that they read, and the examples that they yield."""

import gzip
import zlib
from pathlib import Path

import numpy as np
import pytest

from headrace import pipeline as hp
from headrace.core import errors
from headrace.io.records import TFRecordWriter

LINES = [b"one", b"", b"three", b"last"]


def texts(pipeline):
    return [example["text"] for example in pipeline]


def test_lines_exclude_line_ends(tmp_path):
    (tmp_path / "a").write_bytes(b"one\r\n\nthree\nlast")
    assert texts(hp.text_lines(tmp_path / "a")) == LINES


@pytest.mark.parametrize("compression", ["gzip", "auto", "zlib"])
def test_compressed_lines_are_read(tmp_path, compression):
    compress = zlib.compress if compression == "zlib" else gzip.compress
    (tmp_path / "a").write_bytes(compress(b"\n".join(LINES)))
    assert texts(hp.text_lines(tmp_path / "a", compression)) == LINES


def test_line_can_be_longer_than_a_block(tmp_path):
    lines = [b"x", b"y" * 3_000_000, b"z"]
    (tmp_path / "a").write_bytes(b"\n".join(lines))
    assert texts(hp.text_lines(tmp_path / "a")) == lines


@pytest.mark.parametrize("memory_bytes", [None, 8 << 20])
def test_small_files_among_large_ones_are_read_in_order(tmp_path, memory_bytes):
    expected = []
    for number in range(200):
        num_lines = 10_000 if number % 40 > 36 else number % 3
        lines = [b"%d: line %d" % (number, line) + b"." * 50 for line in range(num_lines)]
        data = b"".join(line + b"\n" for line in lines)
        (tmp_path / f"{number:03}").write_bytes(gzip.compress(data) if number % 7 == 0 else data)
        expected += lines
    lines = hp.text_lines(sorted(tmp_path.iterdir())).options(
        num_threads=3, memory_bytes=memory_bytes
    )
    assert texts(lines) == expected
    unordered = texts(lines.options(deterministic=False))
    assert sorted(unordered) == sorted(expected)


def test_fixed_length_records_are_read(tmp_path):
    (tmp_path / "a").write_bytes(b"HH" + b"abc" * 100_000 + b"F")
    pipeline = hp.fixed_length_records(tmp_path / "a", 3, header_bytes=2, footer_bytes=1)
    [batch] = pipeline.batch(100_000)
    assert list(batch["record"]) == [b"abc"] * 100_000


def test_truncated_record_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"abcab")
    batches = iter(hp.fixed_length_records(tmp_path / "a", 3))
    assert next(batches)["record"] == b"abc"
    with pytest.raises(errors.DataLossError, match=r"a: truncated record \(record 1\): 2 bytes"):
        next(batches)


@pytest.mark.parametrize("stage", [lambda pipe: pipe, lambda pipe: pipe.shuffle(seed=1)])
@pytest.mark.parametrize("data", [b"", b"HH"])
def test_file_shorter_than_its_header_is_an_error(tmp_path, stage, data):
    (tmp_path / "a").write_bytes(data)
    pipeline = stage(hp.fixed_length_records(tmp_path / "a", 3, header_bytes=5))
    message = rf"a: the file has {len(data)} bytes, expected a header of 5 \(header_bytes=5\)"
    with pytest.raises(errors.DataLossError, match=message):
        list(pipeline)
    (tmp_path / "a").write_bytes(b"HHHHH")
    assert list(pipeline) == []


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_header_can_be_longer_than_a_block(tmp_path, compression):
    header, data = b"H" * 1_000_001, b"abcdef"
    write = gzip.compress if compression else bytes
    (tmp_path / "a").write_bytes(write(header + data))
    pipeline = hp.fixed_length_records(tmp_path / "a", 3, len(header), compression=compression)
    assert [row["record"] for row in pipeline] == [b"abc", b"def"]
    (tmp_path / "a").write_bytes(write(header[:-1]))
    with pytest.raises(errors.DataLossError, match="the file has 1000000 bytes, expected a header"):
        list(pipeline)


@pytest.mark.parametrize("stage", [lambda pipe: pipe, lambda pipe: pipe.shuffle(seed=1)])
def test_compressed_file_is_not_read_as_raw_records(tmp_path, stage):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"abcdef"))
    pipeline = hp.fixed_length_records(path, 1, compression=None)
    with pytest.raises(errors.InvalidArgumentError, match=r"a.gz: the name and the first bytes "):
        list(stage(pipeline))
    assert [row["record"] for row in hp.fixed_length_records(path, 3)] == [b"abc", b"def"]


def test_whole_files_are_read(tmp_path):
    (tmp_path / "b").write_bytes(b"second")
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / ".hidden").write_bytes(b"not this one")
    examples = list(hp.files(tmp_path))
    assert examples == [
        {"path": str(tmp_path / "a"), "data": b""},
        {"path": str(tmp_path / "b"), "data": b"second"},
    ]


def test_double_star_pattern_descends_into_directories(tmp_path):
    for name in ("x/1.txt", "y/z/2.txt", "3.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert texts(hp.text_lines(f"{tmp_path}/**/*.txt")) == [b"3.txt", b"x/1.txt", b"y/z/2.txt"]


def test_existing_path_is_not_a_pattern(tmp_path):
    (tmp_path / "a[1]").write_text("this")
    (tmp_path / "a1").write_text("not this")
    assert texts(hp.text_lines(tmp_path / "a[1]")) == [b"this"]


@pytest.mark.parametrize(
    ("name", "what"),
    [("nothing*", "no file matches this pattern"), ("nothing", "no such file")],
)
def test_missing_files_are_an_error_when_iteration_starts(tmp_path, name, what):
    pipeline = hp.tfrecords(tmp_path / name)
    with pytest.raises(errors.NotFoundError, match=f"tfrecords: .*{what}"):
        iter(pipeline)


def test_error_for_a_damaged_record_names_file_and_record(tmp_path):
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        for number in range(3):
            writer.write(b"record %d" % number)
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    batches = iter(hp.tfrecords(path))
    assert [next(batches)["record"] for _ in range(2)] == [b"record 0", b"record 1"]
    message = r"a.tfrecord: corrupted record at 60 \(record 2\): the checksum of its data"
    with pytest.raises(errors.DataLossError, match=message):
        next(batches)
    with pytest.raises(StopIteration):
        next(batches)


def test_truncated_file_is_an_error(tmp_path):
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        writer.write(b"record")
    for length in (21, 10, 3):
        path.write_bytes(path.read_bytes()[:length])
        with pytest.raises(errors.DataLossError, match=r"truncated record at 0 \(record 0\)"):
            list(hp.tfrecords(path))


def test_array_rows_become_examples():
    strings = np.array(["a", "bc"])
    examples = list(hp.arrays({"x": np.arange(6).reshape(2, 3), "s": strings}))
    assert [example["x"].tolist() for example in examples] == [[0, 1, 2], [3, 4, 5]]
    assert [example["s"] for example in examples] == ["a", "bc"]


def test_arrays_are_not_copied():
    array = np.zeros((1000, 1000))
    pipeline = hp.arrays({"x": array})
    array[:] = 7
    assert all(batch["x"].min() == 7 for batch in pipeline.batch(100))


def test_dicts_yielded_by_a_function_become_examples():
    pipeline = hp.iterable(lambda: ({"n": number} for number in range(1000)))
    assert [example["n"] for example in pipeline.epochs(2)] == [*range(1000), *range(1000)]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: hp.tfrecords([]), ValueError, "tfrecords: there are no paths"),
        (lambda: hp.tfrecords([3]), TypeError, "tfrecords: 3 is not a path"),
        (lambda: hp.tfrecords(b"a"), TypeError, "tfrecords: .* is not a path"),
        (lambda: hp.tfrecords("a", "rar"), ValueError, "compression is 'rar', expected None"),
        (
            lambda: hp.fixed_length_records("a", 0),
            ValueError,
            "record_bytes is 0, expected an int of at least 1",
        ),
        (lambda: hp.arrays({}), ValueError, "there are no arrays"),
        (lambda: hp.arrays({"x": 3}), ValueError, "'x' is a scalar, expected an array"),
        (lambda: hp.arrays({"x": [1], "y": [1, 2]}), ValueError, "have different lengths"),
        (
            lambda: hp.arrays({"x": [None]}),
            TypeError,
            "'x' contains objects .NoneType.,",
        ),
        (lambda: hp.iterable(iter([])), TypeError, "can be read only once"),
    ],
)
def test_invalid_arguments_are_rejected_at_once(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_nothing_is_opened_before_iteration():
    hp.tfrecords(Path("/nowhere")).parse({"a": int}).shuffle(10).batch(3)
