"""Compressed files: detected by name or content, in several parts, or truncated."""

import base64
import bz2
import gzip
import lzma
import zlib

import pytest

from headrace import pipeline as hp
from headrace.core import errors
from headrace.io.records import TFRecordWriter


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


def lz4(data: bytes) -> bytes:
    """A frame of uncompressed blocks, with no checksum except that of its header."""
    blocks = [data[start : start + 65536] for start in range(0, len(data), 65536)]
    framed = b"".join((len(one) | 1 << 31).to_bytes(4, "little") + one for one in blocks)
    return b"\x04\x22\x4d\x18\x60\x40\x82" + framed + bytes(4)


# "0123456789" 20,000 times, by lz4 1.9.4, and deflated: -BD -BX --content-size -B4, and -l.
LZ4_LINKED = zlib.decompress(
    base64.b85decode(
        "c-mu8@|B2jaNuQT0D(Iqj0_Cx4GfKpO-"
        "#+qEiAbh{*Q2QF8~}E)6ZKvZ~?=H|JO(lkpC|NfC<CE(2dJK6`WdNX~n>BG_~9d00&0S&dZa<88B0eX#hB+7A~DE"
        "49aZ=%O)@Z0Pg@NTL"
    )
)
LZ4_LEGACY = zlib.decompress(
    base64.b85decode("c-mu9^pQ|uW?)!vU}$7)Vrph?Vadhte-w;@Q2+;e0pN@Q0MZ~5BL")
)
DIGITS = b"0123456789" * 20_000
SKIPPABLE = b"\x5a\x2a\x4d\x18\x05\0\0\0hello"

COMPRESS = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "zstd": zstd,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lz4": lz4,
}
TEXT = b"".join(b"line %d\n" % number for number in range(50_000))


def texts(pipeline):
    return [bytes(line) for batch in pipeline.batch(5000) for line in batch["text"]]


@pytest.mark.parametrize("how", ["auto", "named"])
@pytest.mark.parametrize("name", COMPRESS)
def test_compressed_lines_are_read(tmp_path, name, how):
    path = tmp_path / "a"
    path.write_bytes(COMPRESS[name](TEXT))
    assert texts(hp.text_lines(path, "auto" if how == "auto" else name)) == TEXT.splitlines()


@pytest.mark.parametrize("level", [0, 1, 6, 7, 8, 9, -1])
def test_zlib_is_detected_by_its_first_bytes(tmp_path, level):
    (tmp_path / "a").write_bytes(zlib.compress(TEXT, level))
    assert texts(hp.text_lines(tmp_path / "a")) == TEXT.splitlines()


@pytest.mark.parametrize("window_bits", range(9, 16))
@pytest.mark.parametrize("level", [1, 4, 6, 9])
def test_every_zlib_header_is_detected(tmp_path, window_bits, level):
    stream = zlib.compressobj(level, zlib.DEFLATED, window_bits)
    (tmp_path / "a").write_bytes(stream.compress(TEXT) + stream.flush())
    assert texts(hp.text_lines(tmp_path / "a")) == TEXT.splitlines()


def test_text_that_starts_like_zlib_is_read_as_text(tmp_path):
    for text in (
        b"x^2 + y^2\n" * 200,
        b"x\x01\n",
        b"x\xda\x80 is a letter\n",
        b"x\x9c\xff\xff\xff\n",
    ):
        (tmp_path / "a").write_bytes(text)
        assert texts(hp.text_lines(tmp_path / "a")) == text.splitlines(), text
    for length in (0x0178, 0x9C78, 0xDA78):
        with TFRecordWriter(tmp_path / "b") as writer:
            writer.write(bytes(length))
        (example,) = hp.tfrecords(tmp_path / "b")
        assert example["record"] == bytes(length)


@pytest.mark.parametrize("name", COMPRESS)
def test_concatenated_files_are_read_to_the_end(tmp_path, name):
    compress = COMPRESS[name]
    path = tmp_path / "a"
    path.write_bytes(compress(b"one\ntw") + compress(b"") + compress(b"o\nthree"))
    assert texts(hp.text_lines(path)) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("name", COMPRESS)
def test_truncated_data_is_an_error_after_the_complete_records(tmp_path, name):
    path = tmp_path / "a.txt"
    uninterrupted = COMPRESS[name](TEXT)
    path.write_bytes(uninterrupted[: len(uninterrupted) - 3])
    lines = []
    with pytest.raises(errors.DataLossError, match=r"a.txt: .* \(line \d+, .* cut short; copy it"):
        lines.extend(example["text"] for example in hp.text_lines(path, name))
    path.write_bytes(uninterrupted[: len(uninterrupted) // 2])
    results = []
    with pytest.raises(errors.DataLossError):
        results.extend(example["text"] for example in hp.text_lines(path, name))
    assert results == TEXT.splitlines()[: len(results)]
    # Blocks of bzip2 and xz are larger than the text.
    assert len(results) > 5000 or name in ("bzip2", "xz")


@pytest.mark.parametrize("name", COMPRESS)
def test_error_for_damage_names_the_file(tmp_path, name):
    path = tmp_path / "a.txt"
    data = bytearray(COMPRESS[name](b"x" * 1000))
    data[:12] = b"no such data"
    path.write_bytes(data)
    with pytest.raises(errors.DataLossError, match=r"a.txt: .*\(line 1, after byte 0 of the data"):
        list(hp.text_lines(path, name))


@pytest.mark.parametrize("name", COMPRESS)
def test_every_format_can_be_compressed(tmp_path, name):
    compress = COMPRESS[name]
    with TFRecordWriter(tmp_path / "plain") as writer:
        for number in range(3):
            writer.write(b"%d" % number)
    (tmp_path / "records").write_bytes(compress((tmp_path / "plain").read_bytes()))
    records = hp.tfrecords(tmp_path / "records")
    assert [row["record"] for row in records] == [b"0", b"1", b"2"]
    (tmp_path / "fixed").write_bytes(compress(b"abcdef"))
    fixed = hp.fixed_length_records(tmp_path / "fixed", 2)
    assert [row["record"] for row in fixed] == [b"ab", b"cd", b"ef"]
    (tmp_path / "csv").write_bytes(compress(b"a\n1\n2\n"))
    assert [row["a"] for row in hp.csv(tmp_path / "csv")] == [1, 2]
    (tmp_path / "json").write_bytes(compress(b'{"a": 1}\n{"a": 2}\n'))
    assert [row["a"] for row in hp.json_lines(tmp_path / "json")] == [1, 2]


def test_text_that_looks_like_magic_bytes_is_read_as_text(tmp_path):
    for text in (b"BZh9 is how bzip2 begins", b"BZh", b"\x1f", b"GIF89a", b"PK", b"LZIP"):
        (tmp_path / "a").write_bytes(text)
        assert texts(hp.text_lines(tmp_path / "a")) == [text]


def test_records_before_a_truncation_come_before_the_error(tmp_path):
    with TFRecordWriter(tmp_path / "plain") as writer:
        for _ in range(1000):
            writer.write(b"x" * 100)
    compressed = gzip.compress((tmp_path / "plain").read_bytes(), 0)
    (tmp_path / "a").write_bytes(compressed[: len(compressed) // 2])
    records = iter(hp.tfrecords(tmp_path / "a"))
    assert sum(1 for _ in zip(range(400), records, strict=False)) == 400
    with pytest.raises(errors.DataLossError, match="cut short"):
        list(records)


@pytest.mark.parametrize("how", ["auto", "named"])
@pytest.mark.parametrize("name", COMPRESS)
def test_file_truncated_anywhere_is_an_error(tmp_path, name, how):
    path = tmp_path / f"a.{ {'gzip': 'gz', 'bzip2': 'bz2', 'zstd': 'zst'}.get(name, name) }"
    lines = b"".join(b"line %d\n" % number for number in range(100))
    uninterrupted = COMPRESS[name](lines) + COMPRESS[name](b"more")
    between = len(COMPRESS[name](lines))
    # Any byte is possible, because there is no file extension for zlib.
    least = 2 if name == "zlib" else 0
    for length in {*range(40), *range(between - 12, len(uninterrupted))} - {1, between}:
        path.write_bytes(uninterrupted[:length])
        if how == "named" or length >= least:
            with pytest.raises(errors.DataLossError, match="cut short"):
                list(hp.text_lines(path, "auto" if how == "auto" else name))
    path.write_bytes(uninterrupted)
    assert texts(hp.text_lines(path)) == [*lines.splitlines(), b"more"]


@pytest.mark.parametrize("name", ["gzip", "xz"])
def test_zeros_after_the_end_are_padding(tmp_path, name):
    compress = COMPRESS[name]
    path = tmp_path / "a"
    for behind, more in ((bytes(4), 0), (bytes(300_000), 0), (bytes(8) + compress(b"two\n"), 1)):
        path.write_bytes(compress(b"one\n") + behind)
        assert texts(hp.text_lines(path)) == [b"one", b"two"][: 1 + more]


@pytest.mark.parametrize("name", COMPRESS)
def test_trailing_data_is_an_error(tmp_path, name):
    path = tmp_path / "a"
    path.write_bytes(COMPRESS[name](b"one\n") + b"and more\n")
    results = []
    with pytest.raises(errors.DataLossError, match=r"a: .* \(line 1, after byte 4 of the data\)"):
        results.extend(row["text"] for row in hp.text_lines(path))
    assert results == [b"one"]


@pytest.mark.parametrize("data", [LZ4_LINKED, LZ4_LEGACY, LZ4_LEGACY * 2, LZ4_LEGACY + LZ4_LINKED])
def test_all_kinds_of_lz4_frames_are_read(tmp_path, data):
    (tmp_path / "a").write_bytes(SKIPPABLE + data + SKIPPABLE)
    (text,) = texts(hp.text_lines(tmp_path / "a"))
    assert text == DIGITS * (1 + (len(data) > len(LZ4_LINKED) + 100))


@pytest.mark.parametrize("name", ["zstd", "lz4"])
@pytest.mark.parametrize("length", [0, 3, 1000, 5000])
def test_skippable_frames_can_come_first(tmp_path, name, length):
    skippable = b"\x50\x2a\x4d\x18" + length.to_bytes(4, "little") + bytes(length)
    frame = COMPRESS[name](b"one\n")
    (tmp_path / "a").write_bytes(skippable * 2 + frame + skippable + frame)
    for compression in ("auto", name):
        assert texts(hp.text_lines(tmp_path / "a", compression)) == [b"one", b"one"]
    (tmp_path / "a").write_bytes(skippable * 2 + skippable[:-1])
    with pytest.raises(errors.DataLossError, match="cut short"):
        list(hp.text_lines(tmp_path / "a"))


def test_damage_within_lz4_is_detected(tmp_path):
    for position in (4, 6, 20, len(LZ4_LINKED) // 2, len(LZ4_LINKED) - 1):
        data = bytearray(LZ4_LINKED)
        data[position] ^= 4
        (tmp_path / "a").write_bytes(data)
        with pytest.raises(errors.DataLossError, match=r"a: (LZ4: |unexpected end|failed to fill)"):
            list(hp.text_lines(tmp_path / "a", "lz4"))


def test_oversized_windows_are_rejected_with_the_reason(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 28}]
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"one\n", filters=filters))
    with pytest.raises(errors.DataLossError, match=r"a.xz: .* a window of more than 128 MiB; comp"):
        list(hp.text_lines(tmp_path / "a.xz"))


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a", b"PK\x03\x04\x14\0", "a zip archive"),
        ("a", b"7z\xbc\xaf\x27\x1c\0\4", "a 7z archive"),
        ("a", b"Rar!\x1a\x07\1\0", "a rar archive"),
        ("a", b"\xff\6\0\0sNaPpY", "compressed with snappy"),
        ("a", b"\x1f\x9d\x90abc", r"compressed with compress \(.Z\)"),
        ("a", lzma.compress(b"one\n", lzma.FORMAT_ALONE), "compressed with lzma"),
        ("a.txt.br", b"\x0b\1\x80one\3", "compressed with Brotli, according to its name"),
        ("a", b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "a Git LFS pointer"),
    ],
)
def test_error_names_an_unsupported_format(tmp_path, name, data, what):
    path = tmp_path / name
    path.write_bytes(data)
    for pipeline in (
        hp.text_lines(path),
        hp.text_lines(path).shuffle(seed=1),
        hp.tfrecords(path),
        hp.fixed_length_records(path, 1),
        hp.csv(path),
        hp.json_lines(path),
        hp.webdataset(path),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=f"{path}: the file is {what}"):
            list(pipeline)
    # A text may have such a name.
    path.write_bytes(b"one\n")
    assert texts(hp.text_lines(path)) == [b"one"]


def test_fixed_length_records_are_not_decompressed_with_compression_none(tmp_path):
    data = gzip.compress(b"abcd", mtime=0)
    (tmp_path / "a").write_bytes(data)
    rows = hp.fixed_length_records(tmp_path / "a", 1, compression=None)
    assert b"".join(row["record"] for row in rows) == data
    assert [row["record"] for row in hp.fixed_length_records(tmp_path / "a", 2)] == [b"ab", b"cd"]
