"""Files of every format that pipelines read, each with distinct examples."""

import bz2
import gzip
import io
import json
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

import headrace as hr
from headrace.io.records import TFRecordWriter
from headrace.pipeline import Pipeline
from headrace.protos import Example

__all__ = ["FORMATS", "Format", "number_in", "text_of", "tfrecords_of"]

FIXED_BYTES = 64
_PER_ROW_GROUP = 16

Components = Mapping[str, Any]


def text_of(number: int) -> str:
    """Returns the text of an example: its number, and text derived from the number."""
    digest = sha256(b"%d" % number).hexdigest()
    return f"{number}:{digest[: 8 + number % 40]}"


def number_in(text: str | bytes) -> int | None:
    """Returns the number of the example that has this text; None if none has it."""
    text = text if isinstance(text, str) else bytes(text).decode(errors="replace")
    number = text.partition(":")[0]
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        return None
    return int(number) if text == text_of(int(number)) else None


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes:
        name: The name in messages.
        encode: Creates a file of the examples with the given numbers.
        read: Creates a pipeline over files, which yields their examples.
        number_of: Returns the number of an example of the pipeline; None if there is no such
            example.
        is_covered: Whether a checksum covers all data.
        is_whole: Whether a file is a single example.
    """

    name: str
    encode: Callable[[Sequence[int]], bytes]
    read: Callable[[Sequence[str]], Pipeline]
    number_of: Callable[[Components], int | None]
    is_covered: bool = False
    is_whole: bool = False


def tfrecords_of(numbers: Sequence[int]) -> bytes:
    """Returns a TFRecord file of `Example`s with the numbers' texts."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "records")
        with TFRecordWriter(path) as writer:
            for number in numbers:
                example = Example()
                example.features.feature["text"].bytes_list.value.append(text_of(number).encode())
                writer.write(example.SerializeToString())
        return path.read_bytes()


def _lines(numbers: Sequence[int]) -> bytes:
    return "".join(f"{text_of(number)}\n" for number in numbers).encode()


def _csv(numbers: Sequence[int]) -> bytes:
    rows = (f'{number},"{text_of(number)}"\n' for number in numbers)
    return ("number,text\n" + "".join(rows)).encode()


def _json_lines(numbers: Sequence[int]) -> bytes:
    rows = ({"number": number, "text": text_of(number)} for number in numbers)
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _json_array(numbers: Sequence[int]) -> bytes:
    rows = [{"number": number, "text": text_of(number)} for number in numbers]
    return json.dumps(rows, indent=1).encode()


def _tar(numbers: Sequence[int]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for number in numbers:
            data = text_of(number).encode()
            member = tarfile.TarInfo(f"{number:06}.txt")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


def _parquet(numbers: Sequence[int]) -> bytes:
    file = io.BytesIO()
    table = pa.table({"text": pa.array([text_of(number) for number in numbers], pa.string())})
    pq.write_table(table, file, row_group_size=_PER_ROW_GROUP, write_page_checksum=True)
    return file.getvalue()


def _fixed(numbers: Sequence[int]) -> bytes:
    return b"".join(text_of(number).encode().ljust(FIXED_BYTES, b"\0") for number in numbers)


def _whole(numbers: Sequence[int]) -> bytes:
    return text_of(numbers[0]).encode()


def _zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def _by(name: str) -> Callable[[Components], int | None]:
    return lambda example: number_in(example[name])


def _fixed_number(example: Components) -> int | None:
    return number_in(example["record"].rstrip(b"\0"))


def _packed(encode: Callable[[Sequence[int]], bytes], pack: Callable[[bytes], bytes]) -> Any:
    return lambda numbers: pack(encode(numbers))


def _records(compression: str | None) -> Callable[[Sequence[str]], Pipeline]:
    return lambda paths: hr.tfrecords(paths, compression=compression).parse({"text": bytes})


def _texts(compression: str | None) -> Callable[[Sequence[str]], Pipeline]:
    return lambda paths: hr.text_lines(paths, compression=compression)


_COLUMNS = {"number": int, "text": str}
_GZIP = _packed(_lines, lambda data: gzip.compress(data, mtime=0))
FORMATS = {
    kind.name: kind
    for kind in (
        Format("tfrecord", tfrecords_of, _records(None), _by("text"), True),
        Format(
            "tfrecord.gz",
            _packed(tfrecords_of, lambda data: gzip.compress(data, mtime=0)),
            _records("gzip"),
            _by("text"),
            True,
        ),
        Format(
            "tfrecord.zlib",
            _packed(tfrecords_of, zlib.compress),
            _records("zlib"),
            _by("text"),
            True,
        ),
        Format("tfrecord.zst", _packed(tfrecords_of, _zstd), _records("zstd"), _by("text"), True),
        Format(
            "tfrecord.bz2",
            _packed(tfrecords_of, bz2.compress),
            _records("bzip2"),
            _by("text"),
            True,
        ),
        Format("text", _lines, _texts(None), _by("text")),
        Format("text.gz", _GZIP, _texts("gzip"), _by("text"), True),
        Format("text.bz2", _packed(_lines, bz2.compress), _texts("bzip2"), _by("text"), True),
        Format("csv", _csv, lambda paths: hr.csv(paths, _COLUMNS), _by("text")),
        Format("jsonl", _json_lines, lambda paths: hr.json_lines(paths, _COLUMNS), _by("text")),
        Format("json", _json_array, lambda paths: hr.json_array(paths, _COLUMNS), _by("text")),
        Format("tar", _tar, hr.webdataset, _by("txt")),
        Format(
            "tar.gz",
            _packed(_tar, lambda data: gzip.compress(data, mtime=0)),
            lambda paths: hr.webdataset(paths, compression="gzip"),
            _by("txt"),
            True,
        ),
        Format("parquet", _parquet, hr.parquet, _by("text")),
        Format(
            "fixed",
            _fixed,
            lambda paths: hr.fixed_length_records(paths, FIXED_BYTES),
            _fixed_number,
        ),
        Format("files", _whole, hr.files, _by("data"), is_whole=True),
    )
}
