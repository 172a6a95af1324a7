"""Compressed files: by name and by content, of several parts, cut short."""

import bz2
import gzip
import zlib

import pytest

from headrace import errors
from headrace import pipeline as hp
from headrace.records import TFRecordWriter


def zstd(data: bytes) -> bytes:
    """A frame of blocks that are not compressed (RFC 8878, 3.1.1)."""
    size = len(data).to_bytes(4, "little")
    starts = range(0, len(data), 100_000) or [0]
    blocks = [data[start : start + 100_000] for start in starts]
    frame = b"\x28\xb5\x2f\xfd\xa0" + size
    for number, block in enumerate(blocks):
        header = (len(block) << 3) | (number == len(blocks) - 1)
        frame += header.to_bytes(3, "little") + block
    return frame


COMPRESS = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "zstd": zstd,
    "bzip2": bz2.compress,
}
TEXT = b"".join(b"line %d\n" % number for number in range(50_000))


def texts(pipeline):
    return [bytes(line) for batch in pipeline.batch(5000) for line in batch["text"]]


# zlib has no sure mark, and must be named.
@pytest.mark.parametrize("how", ["auto", "named"])
@pytest.mark.parametrize("name", COMPRESS)
def test_lines_of_compressed_files(tmp_path, name, how):
    path = tmp_path / "a"
    path.write_bytes(COMPRESS[name](TEXT))
    assert texts(hp.text_lines(path, "auto" if how == "auto" else name)) == TEXT.splitlines()


@pytest.mark.parametrize("level", [0, 1, 6, 7, 8, 9, -1])
def test_zlib_is_known_by_its_first_bytes(tmp_path, level):
    (tmp_path / "a").write_bytes(zlib.compress(TEXT, level))
    assert texts(hp.text_lines(tmp_path / "a")) == TEXT.splitlines()


def test_what_begins_like_zlib_is_not_taken_for_it(tmp_path):
    for text in (b"x^2 + y^2\n", b"x\x01\n", b"x\xda\x80 is a letter\n", b"x\x9c\xff\xff\xff\n"):
        (tmp_path / "a").write_bytes(text)
        assert texts(hp.text_lines(tmp_path / "a")) == text.splitlines(), text
    for length in (0x0178, 0x9C78, 0xDA78):
        with TFRecordWriter(tmp_path / "b") as writer:
            writer.write(bytes(length))
        (example,) = hp.tfrecords(tmp_path / "b")
        assert example["record"] == bytes(length)


@pytest.mark.parametrize("name", ["gzip", "zstd", "bzip2"])
def test_files_put_together_are_read_through(tmp_path, name):
    compress = COMPRESS[name]
    path = tmp_path / "a"
    path.write_bytes(compress(b"one\ntw") + compress(b"") + compress(b"o\nthree"))
    assert texts(hp.text_lines(path)) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("name", COMPRESS)
def test_data_cut_short_are_an_error_after_what_is_there(tmp_path, name):
    path = tmp_path / "a.txt"
    whole = COMPRESS[name](TEXT)
    path.write_bytes(whole[: len(whole) - 3])
    lines = []
    with pytest.raises(errors.DataLossError, match=r"a.txt: .* \(line \d+, .* cut short; copy it"):
        lines.extend(example["text"] for example in hp.text_lines(path, name))
    path.write_bytes(whole[: len(whole) // 2])
    found = []
    with pytest.raises(errors.DataLossError):
        found.extend(example["text"] for example in hp.text_lines(path, name))
    assert found == TEXT.splitlines()[: len(found)]
    assert len(found) > 5000 or name == "bzip2"  # Its blocks are larger than the text.


@pytest.mark.parametrize("name", COMPRESS)
def test_damage_names_the_file(tmp_path, name):
    path = tmp_path / "a.txt"
    data = bytearray(COMPRESS[name](b"x" * 1000))
    data[:12] = b"no such data"
    path.write_bytes(data)
    with pytest.raises(errors.DataLossError, match=r"a.txt: .*\(line 1, after byte 0 of the data"):
        list(hp.text_lines(path, name))


@pytest.mark.parametrize("name", ["gzip", "zstd", "bzip2"])
def test_every_format_may_be_compressed(tmp_path, name):
    compress = COMPRESS[name]
    with TFRecordWriter(tmp_path / "plain") as writer:
        for number in range(3):
            writer.write(b"%d" % number)
    (tmp_path / "records").write_bytes(compress((tmp_path / "plain").read_bytes()))
    records = hp.tfrecords(tmp_path / "records")
    assert [row["record"] for row in records] == [b"0", b"1", b"2"]
    (tmp_path / "fixed").write_bytes(compress(b"abcdef"))
    fixed = hp.fixed_length_records(tmp_path / "fixed", 2, compression="auto")
    assert [row["record"] for row in fixed] == [b"ab", b"cd", b"ef"]
    (tmp_path / "csv").write_bytes(compress(b"a\n1\n2\n"))
    assert [row["a"] for row in hp.csv(tmp_path / "csv")] == [1, 2]
    (tmp_path / "json").write_bytes(compress(b'{"a": 1}\n{"a": 2}\n'))
    assert [row["a"] for row in hp.json_lines(tmp_path / "json")] == [1, 2]


def test_what_looks_like_a_mark_is_text(tmp_path):
    for text in (b"BZh9 is how bzip2 begins", b"BZh", b"\x1f", b"\x28\xb5"):
        (tmp_path / "a").write_bytes(text)
        assert texts(hp.text_lines(tmp_path / "a")) == [text]


def test_records_cut_short_come_before_the_error(tmp_path):
    with TFRecordWriter(tmp_path / "plain") as writer:
        for _ in range(1000):
            writer.write(b"x" * 100)
    compressed = gzip.compress((tmp_path / "plain").read_bytes(), 0)
    (tmp_path / "a").write_bytes(compressed[: len(compressed) // 2])
    records = iter(hp.tfrecords(tmp_path / "a"))
    assert sum(1 for _ in zip(range(400), records, strict=False)) == 400
    with pytest.raises(errors.DataLossError, match="cut short"):
        list(records)
