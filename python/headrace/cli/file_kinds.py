"""Finds the files that arguments refer to, and detects each file's kind from its first bytes."""

from __future__ import annotations

import csv
import json
import os
import re
import tarfile
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from headrace import ops, pipeline
from headrace.cli.failures import Failure
from headrace.core import engine
from headrace.io import storage
from headrace.io.os_errors import os_errors
from headrace.pipeline.native_functions import native
from headrace.pipeline.paths.listing import files_below, is_directory
from headrace.pipeline.paths.paths import find_files

__all__ = [
    "Content",
    "Kind",
    "Start",
    "content_of",
    "delimiter_of",
    "files_of",
    "image_kind",
    "is_json_array",
    "is_json_lines",
    "is_number",
    "is_text",
    "start_of",
]


def files_of(command: str, argument: str) -> list[str]:
    """Returns the files that an argument refers to.

    For a directory with subdirectories, such as an image folder, these are all files below it,
    sorted, without hidden ones. For everything else, see `find_files`.

    Raises: NotFoundError: If no such files exist. OpError: If a directory cannot be listed.
    """
    if not storage.is_remote(argument) and is_directory(argument):
        files = list(files_below(argument))
        if files:
            return files
    return [os.fsdecode(path) for path in find_files(command, [argument])]


# The number of bytes needed to detect the kind of a file.
_START_BYTES: Final = 64 * 1024
_END_BYTES: Final = 8
_MORE_THAN_ANY: Final = 1 << 62


class Start(NamedTuple):
    """The first bytes of a file.

    Attributes:
        data: The first bytes, decompressed.
        is_whole: Whether `data` is the whole content of the file.
        end: The last few bytes of the file, not decompressed. Empty if they cannot be read.
        compression: "gzip", "zlib", "zstd", "bzip2", "xz", "lz4" or None.
        size_bytes: The size of the file in bytes.
    """

    data: bytes
    is_whole: bool
    end: bytes
    compression: str | None
    size_bytes: int


def start_of(path: str) -> Start:
    """Reads the beginning of a file.

    Raises:
        Failure: If the path is not a regular file.
        OpError: If the file cannot be read.
    """
    is_remote = storage.is_remote(path)
    if not is_remote and os.path.exists(path) and not os.path.isfile(path):
        raise Failure(
            f"{path}: this is not a regular file, so it cannot be read twice. Pass a regular file."
        )
    with os_errors(path), storage.open_file(path) as file:
        head = file.read(_START_BYTES)
        size_bytes = storage.size_of(file)
        end = b""
        if file.seekable():  # Some servers can send only whole files.
            file.seek(max(0, size_bytes - _END_BYTES))
            end = file.read(_END_BYTES)
    compression = engine.codec_of(head) or None
    if compression is None:
        return Start(head, size_bytes <= _START_BYTES, end, None, size_bytes)
    data = _decompressed(path)
    return Start(data, len(data) < _START_BYTES, end, compression, size_bytes)


@native
def _byte(example: dict[str, Any]) -> dict[str, Any]:
    return {"byte": ops.decode_raw(example["record"], "uint8")}


def _decompressed(path: str) -> bytes:
    """Returns the first decompressed bytes, up to any damage."""
    records = pipeline.fixed_length_records(path, record_bytes=1)
    start = records.map(_byte).skip_errors(_MORE_THAN_ANY).batch(_START_BYTES).take(1)
    with iter(start) as batches:
        return b"".join(batch["byte"].tobytes() for batch in batches)


_DELIMITERS: Final = ",\t;|"
_MOST_LINES: Final = 20
# Control characters that do not appear in text, unlike tabs and line ends.
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b\x08"))


def is_text(data: bytes) -> bool:
    """Returns whether the bytes look like text in any encoding."""
    return bool(data) and len(data.translate(None, _CONTROLS)) == len(data)


def is_number(text: str) -> bool:
    """Returns whether a string is a number, which is an unlikely column name."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_json_lines(data: bytes, is_whole: bool) -> bool:
    """Returns whether the first line and most of the others are JSON objects.

    An incomplete last line is ignored.
    """
    lines = _lines(data, is_whole)
    if not lines and not is_whole:
        # The first line is longer than the examined bytes.
        return data.lstrip().startswith(b'{"')
    return bool(lines) and _is_object(lines[0]) and _most(map(_is_object, lines))


def is_json_array(data: bytes) -> bool:
    """Returns whether a text starts like a JSON array of objects."""
    return re.match(rb'(\xef\xbb\xbf)?\s*\[\s*\{\s*["}]', data) is not None


def delimiter_of(data: bytes, is_whole: bool) -> str | None:
    """Returns the delimiter if the bytes are CSV with a header, otherwise None.

    The bytes are CSV if the first record has at least two fields, all different and none empty, and
    most of the following records have the same number of fields. A table with a single column
    counts as text.
    """
    text = b"\n".join(_lines(data, is_whole)).decode("utf-8", "replace")
    num_fields = {delimiter: _num_fields(text, delimiter) for delimiter in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda delimiter: num_fields[delimiter])
    return best if num_fields[best] > 1 else None


def _lines(data: bytes, is_whole: bool) -> list[bytes]:
    """Returns the first complete lines that are not blank."""
    lines = data.splitlines()
    if not is_whole and lines:
        lines.pop()
    return [line for line in lines if line.strip()][:_MOST_LINES]


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _num_fields(text: str, delimiter: str) -> int:
    """Returns the number of fields in the header, or 0 if this is not a table."""
    try:
        records = list(csv.reader(text.splitlines(keepends=True), delimiter=delimiter))
    except csv.Error:
        return 0
    header, *others = records or [[]]
    names = {name.strip() for name in header}
    is_header = "" not in names and len(names) == len(header)
    is_table = bool(others) and _most(len(record) == len(header) for record in others)
    return len(header) if is_header and is_table else 0


def _most(values: Iterable[bool]) -> bool:
    """Returns whether at least three quarters of the values are true (lines may be damaged)."""
    items = list(values)
    return sum(items) >= len(items) * 3 / 4


class Kind:
    """The known kinds of files, named as in reports."""

    TFRECORD: Final = "tfrecord"
    EVENTS: Final = "events"
    SESSION: Final = "session checkpoint"
    CSV: Final = "csv"
    JSON_LINES: Final = "json lines"
    JSON_ARRAY: Final = "json array"
    TAR: Final = "tar"
    PARQUET: Final = "parquet"
    IMAGE: Final = "image"
    BUNDLE: Final = "checkpoint"
    STATE: Final = "state"
    INDEX: Final = "index"
    TEXT: Final = "text"
    EMPTY: Final = "empty"
    UNKNOWN: Final = "unknown"


class Content(NamedTuple):
    """A file's kind, with details that were found while detecting it.

    Attributes:
        path: The path of the file.
        kind: One of `Kind`.
        compression: "gzip", "zlib", "zstd", "bzip2", "xz", "lz4" or None.
        size_bytes: The size of the file in bytes.
        detail: More about the kind: the format of an image, the delimiter of a table, or a guess
            for an unknown file.
        mismatch: Why the content does not match the file name, or None if it matches.
    """

    path: str
    kind: str
    compression: str | None
    size_bytes: int
    detail: str | None = None
    mismatch: str | None = None


_IMAGES: Final = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"II+\0": "TIFF",
    b"MM\0+": "TIFF",
}
_TABLE_END: Final = bytes.fromhex("57fb808b247547db")
_LENGTH_BYTES: Final = 8
_HEADER_BYTES: Final = 12
_EVENT_VERSION: Final = b"brain.Event:"
_INDEX: Final = b"\x89HRINDEX"
_SESSION: Final = b'"format": "headrace checkpoint"'
_STATE_KEYS: Final = {"version", "stages", "place", "checksum"}
# Only its name distinguishes a table with one column from other text.
_TEXTS: Final = {
    ".csv": (Kind.CSV, ","),
    ".tsv": (Kind.CSV, "\t"),
    ".jsonl": (Kind.JSON_LINES, None),
    ".ndjson": (Kind.JSON_LINES, None),
}
# If the first bytes are damaged, the name decides.
_NAMES: Final = {
    ".tfrecord": Kind.TFRECORD,
    ".tfrecords": Kind.TFRECORD,
    ".parquet": Kind.PARQUET,
    ".tar": Kind.TAR,
}
_IMAGE_NAMES: Final = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp")
# Kinds for which any text or an empty file can be mistaken.
_ANY_TEXT: Final = (Kind.TEXT, Kind.CSV, Kind.JSON_LINES, Kind.JSON_ARRAY, Kind.STATE, Kind.EMPTY)
_COMPRESSED_NAMES: Final = (".gz", ".zst", ".bz2", ".xz", ".lz4")


def content_of(path: str) -> Content:
    """Detects the kind of a file from its content.

    Raises:
        OpError: If the file cannot be read.
    """
    start = start_of(path)
    kind, detail = _kind(start)
    if kind == Kind.UNKNOWN:
        named = _NAMES.get(_named(path))
        kind, detail = (named, None) if named and detail is None else (kind, detail)
        return Content(path, kind, start.compression, start.size_bytes, detail)
    mismatch = _mismatch(path, kind, start)
    if kind == Kind.TEXT:
        kind, detail = _TEXTS.get(_named(path), (kind, detail))
    return Content(path, kind, start.compression, start.size_bytes, detail, mismatch)


def _mismatch(path: str, kind: str, start: Start) -> str | None:
    if kind not in _ANY_TEXT:
        return None
    name = path.lower()
    expected = Kind.IMAGE if name.endswith(_IMAGE_NAMES) else _NAMES.get(_named(path))
    if not start.size_bytes and name.endswith(_COMPRESSED_NAMES):
        expected = "compressed"
    # The file may have no records.
    if expected is None or (expected == Kind.TFRECORD and kind == Kind.EMPTY):
        return None
    content = engine.content_of(start.data)
    is_what = f"this is {content[0]}" if content else "this is text"
    if kind == Kind.EMPTY:
        is_what = "this file is empty"
    return f"{is_what}, but by its name it should be {expected}. Copy it again."


def image_kind(data: bytes) -> str | None:
    """Returns the format of an image by its first bytes, or None if the bytes are not an image."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WebP"
    if (
        data.startswith(b"BM")
        and len(data) > 26
        and data[14:15] in (b"\x0c", b"\x28", b"\x6c", b"\x7c")
    ):
        return "BMP"
    return next((name for mark, name in _IMAGES.items() if data.startswith(mark)), None)


def _kind(start: Start) -> tuple[str, str | None]:  # noqa: PLR0911 (one for each kind)
    data = start.data
    if not data:
        return (Kind.UNKNOWN if start.size_bytes else Kind.EMPTY), None
    if _is_record(data):
        return _kind_of_records(data), None
    if data.startswith(_INDEX):
        return Kind.INDEX, None
    if data.startswith(b"PAR1"):
        return Kind.PARQUET, None
    if image := image_kind(data):
        return Kind.IMAGE, image
    if _is_tar(data):
        return Kind.TAR, None
    if start.end == _TABLE_END and start.compression is None:
        return Kind.BUNDLE, None
    if is_text(data):
        return _kind_of_text(start)
    content = engine.content_of(data)
    return Kind.UNKNOWN, content[0] if content else None


def _is_record(data: bytes) -> bool:
    """Returns whether the bytes start with the length of a TFRecord and its checksum."""
    if len(data) < _HEADER_BYTES:
        return False
    crc = engine.crc32c(data[:_LENGTH_BYTES])
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return data[_LENGTH_BYTES:_HEADER_BYTES] == masked.to_bytes(4, "little")


def _kind_of_records(data: bytes) -> str:
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    first = data[_HEADER_BYTES : _HEADER_BYTES + length]
    # An event file starts with the time, then the file version.
    if _EVENT_VERSION in first[:32]:
        return Kind.EVENTS
    if first.startswith(b"{") and _SESSION in first:
        return Kind.SESSION
    return Kind.TFRECORD


def _is_tar(data: bytes) -> bool:
    if len(data) < tarfile.BLOCKSIZE:
        return False
    if data[257:262] == b"ustar":
        return True
    try:
        tarfile.TarInfo.frombuf(data[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _kind_of_text(start: Start) -> tuple[str, str | None]:
    if start.is_whole and _is_state(start.data):
        return Kind.STATE, None
    if is_json_lines(start.data, start.is_whole):
        return Kind.JSON_LINES, None
    if is_json_array(start.data):
        return Kind.JSON_ARRAY, None
    delimiter = delimiter_of(start.data, start.is_whole)
    return (Kind.TEXT, None) if delimiter is None else (Kind.CSV, delimiter)


def _named(path: str) -> str:
    """Returns the last extension of a name, ignoring the one for compression."""
    stem = path.lower()
    for extension in (*_COMPRESSED_NAMES, ".zlib"):
        stem = stem.removesuffix(extension)
    return os.path.splitext(stem)[1]


def _is_state(data: bytes) -> bool:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    candidates = [document, *(document.values() if isinstance(document, dict) else ())]
    return any(isinstance(one, dict) and set(one) >= _STATE_KEYS for one in candidates)
