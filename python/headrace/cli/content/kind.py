"""The kind of a file."""

from __future__ import annotations

import json
import os
import tarfile
from typing import Final, NamedTuple

from headrace.cli.content.start import Start, start_of
from headrace.cli.content.text import delimiter_of, is_json_lines, is_text
from headrace.core import engine

__all__ = ["Content", "Kind", "content_of", "image_kind"]


class Kind:
    """The known kinds of files, by their words in reports."""

    TFRECORD: Final = "tfrecord"
    EVENTS: Final = "events"
    SESSION: Final = "session checkpoint"
    CSV: Final = "csv"
    JSON_LINES: Final = "json lines"
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
    """The kind of a file, and facts found while determining it.

    Attributes:
        path: The file.
        kind: One of `Kind`.
        compression: "gzip", "zlib", "zstd", "bzip2", "xz", "lz4" or None.
        size_bytes: The size of the file.
        detail: Further facts: the format of an image, the delimiter of a table, or a guess for an
            unknown file.
        mismatch: The reason why the content does not fit the name; None if it does.
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
# A table of one column looks like any other text, except for its name.
_TEXTS: Final = {
    ".csv": (Kind.CSV, ","),
    ".tsv": (Kind.CSV, "\t"),
    ".jsonl": (Kind.JSON_LINES, None),
    ".ndjson": (Kind.JSON_LINES, None),
}
# The kind is taken from the name if the first bytes are damaged.
_NAMES: Final = {
    ".tfrecord": Kind.TFRECORD,
    ".tfrecords": Kind.TFRECORD,
    ".parquet": Kind.PARQUET,
    ".tar": Kind.TAR,
}
_IMAGE_NAMES: Final = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp")
# Kinds that any text, or any empty file, may be mistaken for.
_ANY_TEXT: Final = (Kind.TEXT, Kind.CSV, Kind.JSON_LINES, Kind.STATE, Kind.EMPTY)
_COMPRESSED_NAMES: Final = (".gz", ".zst", ".bz2", ".xz", ".lz4")


def content_of(path: str) -> Content:
    """Returns the kind of a file, by its content.

    Raises:
        OpError: If it cannot be read.
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
    found = engine.content_of(start.data)
    is_what = f"it is {found[0]}" if found else "it is text"
    if kind == Kind.EMPTY:
        is_what = "it is empty"
    return f"{is_what}, expected {expected} as its name says. Copy it again."


def image_kind(data: bytes) -> str | None:
    """Returns the format of an image by its first bytes; None if they are not an image."""
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
    found = engine.content_of(data)
    return Kind.UNKNOWN, found[0] if found else None


def _is_record(data: bytes) -> bool:
    """Returns whether bytes begin with the length of a TFRecord and its checksum."""
    if len(data) < _HEADER_BYTES:
        return False
    crc = engine.crc32c(data[:_LENGTH_BYTES])
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return data[_LENGTH_BYTES:_HEADER_BYTES] == masked.to_bytes(4, "little")


def _kind_of_records(data: bytes) -> str:
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    first = data[_HEADER_BYTES : _HEADER_BYTES + length]
    # The file version is the first entry of an event file, after the time.
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
    delimiter = delimiter_of(start.data, start.is_whole)
    return (Kind.TEXT, None) if delimiter is None else (Kind.CSV, delimiter)


def _named(path: str) -> str:
    """Returns the last extension of a name, but for that of a compression."""
    stem = path.lower()
    for extension in (*_COMPRESSED_NAMES, ".zlib"):
        stem = stem.removesuffix(extension)
    return os.path.splitext(stem)[1]


def _is_state(data: bytes) -> bool:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    found = [document, *(document.values() if isinstance(document, dict) else ())]
    return any(isinstance(one, dict) and set(one) >= _STATE_KEYS for one in found)
