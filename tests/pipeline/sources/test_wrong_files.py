"""Files passed to the wrong source: the error names their format, and no data is read."""

import io
import tarfile

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def path(tmp_path):
    """A path without a file."""
    return tmp_path / "a"


def tables(path):
    return hr.csv(path), hr.json_lines(path)


def lines(path):
    plain = hr.text_lines(path)
    return plain, plain.shuffle(seed=1)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16 text, according to its byte order mark"),
        ("a,b\n1,2\n".encode("utf-32"), "UTF-32 text, according to its byte order mark"),
        (b"PAR1\x15\4\x15\0", "a Parquet file"),
        (b"\x93NUMPY\1\0v\0", "a NumPy array"),
        (b"\x80\4\x95\7\0", "a pickle"),
        (b"\x89PNG\r\n\x1a\n\0", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"\x89HDF\r\n\x1a\n\0", "an HDF5 file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    ],
)
def test_error_names_the_format_of_a_non_text_file(path, data, what):
    path.write_bytes(data)
    for pipeline in (*tables(path), *lines(path)):
        with pytest.raises(errors.InvalidArgumentError, match=f"a: the file is {what}"):
            list(pipeline)
    with pytest.raises(errors.OpError, match=rf"(It|the file) is {what}"):
        list(hr.tfrecords(path))


@pytest.mark.parametrize("data", [b"\n<!DOCTYPE HTML>\n<p>Sorry\n", b"<html>\n"])
def test_html_page_is_rejected_as_a_table_or_records(path, data):
    path.write_bytes(data)
    for pipeline in tables(path):
        with pytest.raises(
            errors.InvalidArgumentError, match=r"an HTML page.* download the file ag"
        ):
            list(pipeline)
    with pytest.raises(errors.DataLossError, match=r"It is an HTML page\. A server sent this page"):
        list(hr.tfrecords(path))
    # For a source of lines it is text.
    assert len(list(hr.text_lines(path))) == data.count(b"\n")


@pytest.mark.parametrize("data", [b"a,b\r1,2\r3,4\r", b'{"a": 1}\r{"a": 2}'])
def test_carriage_return_only_line_ends_are_rejected(path, data):
    path.write_bytes(data)
    text = r"a: the lines end with only \\r, expected \\n or \\r\\n\. Convert it"
    for pipeline in (*tables(path), *lines(path)):
        with pytest.raises(errors.InvalidArgumentError, match=text):
            list(pipeline)


@pytest.mark.parametrize("data", [b"10 %\r20 %\n30 %\r", b"one\r", b"one\r\ntwo\r\n", b""])
def test_carriage_returns_within_lines_are_data(path, data):
    path.write_bytes(data)
    expected = [line.removesuffix(b"\r") for line in data.split(b"\n") if line]
    for pipeline in lines(path):
        assert sorted(row["text"] for row in pipeline) == sorted(expected)


def test_utf_8_byte_order_mark_is_skipped(path):
    path.write_bytes(BOM + b"one\ntwo\n")
    for pipeline in lines(path):
        assert sorted(row["text"] for row in pipeline) == [b"one", b"two"]
    path.write_bytes(BOM + b'{"a": 1}\n{"a": 2}\n')
    for pipeline in (hr.json_lines(path), hr.json_lines(path).shuffle(seed=1)):
        assert sorted(row["a"] for row in pipeline) == [1, 2]
    path.write_bytes(BOM + b"a\n1\n2\n")
    assert [row["a"] for row in hr.csv(path)] == [1, 2]
    for data in (BOM, b""):
        path.write_bytes(data)
        assert list(hr.text_lines(path)) == []
        assert list(hr.text_lines(path).shuffle(seed=1)) == []


def test_resume_position_includes_the_byte_order_mark(path):
    path.write_bytes(BOM + b"one\ntwo\nthree\n")
    pipeline = hr.text_lines(path).batch(1)
    batches = iter(pipeline)
    next(batches)
    rest = [row["text"].tolist() for row in pipeline.resume(batches.state())]
    assert rest == [[b"two"], [b"three"]]


@pytest.mark.parametrize("name", ["a\rb", "a\x1b[2Jb", "a\nb", "a\u202eb"])
def test_control_characters_in_names_are_escaped(tmp_path, name):
    shown = name.encode("unicode_escape").decode()
    (tmp_path / name).write_bytes(b"no record, but a text\n")
    for pipeline in (hr.tfrecords(tmp_path / name), hr.text_lines(tmp_path / f"{name}.gone")):
        with pytest.raises(errors.OpError) as caught:
            list(pipeline)
        assert shown in caught.value.message
        assert not set(caught.value.message) & {"\r", "\x1b", "\n", "\u202e"}
    # Names that are data stay unchanged.
    (row,) = hr.files(tmp_path / name)
    assert row["path"] == str(tmp_path / name)


def test_data_in_messages_is_escaped(path):
    path.write_bytes(b"n\n1\n\x1b[31m2\n")
    with pytest.raises(errors.InvalidArgumentError, match=r"\\x1b\[31m2"):
        list(hr.csv(path, {"n": np.int64}))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"<html>404", r"It is an HTML page\. A server sent this page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "It is a Git LFS pointer"),
        (b"\x1f\x8b\x08\0\0\0\0\0", r"It is compressed with gzip\. Decompress it first\."),
        (b"neither", "Is it a Parquet file"),
    ],
)
def test_parquet_errors_name_the_actual_format(path, data, what):
    path.write_bytes(data)
    with pytest.raises(errors.InvalidArgumentError, match=what):
        list(hr.parquet(path))


BINARY_SOURCES = [hr.webdataset, hr.tfrecords, hr.parquet, hr.arrow]
TEXTS = [
    (b'{"a": 1}\n', r"is JSON.* read it with headrace\.json_lines"),
    (b'[{"a": 1}]', r"is a JSON array.* Read it with headrace\.json_array"),
    (b"a,b\n1,2\n", r"is text.* Read it with headrace\.csv"),
]


@pytest.mark.parametrize("source", BINARY_SOURCES)
@pytest.mark.parametrize(("data", "message"), TEXTS)
@pytest.mark.parametrize("count", [1, 1000])
def test_error_of_a_binary_source_names_the_kind_of_a_text(path, source, data, message, count):
    path.write_bytes(data * count)
    with pytest.raises(errors.OpError, match=message) as caught:
        list(source(path))
    assert "copy it again" not in caught.value.message


@pytest.mark.parametrize("source", BINARY_SOURCES)
@pytest.mark.parametrize("data", [b"hello", bytes(range(1, 11)), bytes(range(1, 200))])
def test_small_file_of_another_kind_is_not_called_cut_short(path, source, data):
    path.write_bytes(data)
    with pytest.raises(errors.OpError, match=r"(Is it|is it|If it is) an? ") as caught:
        list(source(path))
    assert "cut short" not in caught.value.message


def test_small_part_of_an_archive_is_called_cut_short(path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.x"))
    for length in (107, 300, 511):
        path.write_bytes(buffer.getvalue()[:length])
        with pytest.raises(errors.DataLossError, match="cut short; copy it again"):
            list(hr.webdataset(path))


def test_truncated_parquet_file_is_recognised(path):
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(
        errors.DataLossError, match=r"does not end with the Parquet marker .* cut short"
    ):
        list(hr.parquet(path))


def test_error_names_the_format_of_a_non_image(path):
    path.write_bytes(b"<!DOCTYPE html><p>404")

    @hr.native
    def image(example):
        return {"image": hr.ops.decode_image(example["data"])}

    with pytest.raises(errors.InvalidArgumentError, match=r"It is an HTML page\. A server sent"):
        list(hr.files(path).map(image))
