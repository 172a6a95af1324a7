"""The beginning of a file, decompressed."""

from __future__ import annotations

import os
from typing import Any, Final, NamedTuple

from headrace import ops, pipeline
from headrace.cli.failures import Failure
from headrace.core import engine
from headrace.io import storage
from headrace.io.os_errors import os_errors
from headrace.pipeline.tracing import native

__all__ = ["Start", "start_of"]

# Number of bytes needed to tell the kind of a file.
_START_BYTES: Final = 64 * 1024
_END_BYTES: Final = 8
_MORE_THAN_ANY: Final = 1 << 62


class Start(NamedTuple):
    """The first bytes of a file.

    Attributes:
        data: The first bytes, decompressed.
        is_whole: Whether these are all its bytes.
        end: The last few bytes of the file, undecoded; empty if they cannot be read.
        compression: "gzip", "zlib", "zstd", "bzip2", "xz", "lz4" or None.
        size_bytes: The size of the file.
    """

    data: bytes
    is_whole: bool
    end: bytes
    compression: str | None
    size_bytes: int


def start_of(path: str) -> Start:
    """Reads the beginning of a file.

    Raises:
        Failure: If it is not a regular file.
        OpError: If it cannot be read.
    """
    is_remote = storage.is_remote(path)
    if not is_remote and os.path.exists(path) and not os.path.isfile(path):
        raise Failure(f"{path}: no file that can be read twice. Give a regular file.")
    with os_errors(path), storage.open_file(path) as file:
        head = file.read(_START_BYTES)
        size_bytes = storage.size_of(file)
        end = b""
        if file.seekable():  # A server may give whole files only.
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
    """Returns the first decompressed bytes, as far as they are not damaged."""
    records = pipeline.fixed_length_records(path, record_bytes=1)
    start = records.map(_byte).skip_errors(_MORE_THAN_ANY).batch(_START_BYTES).take(1)
    with iter(start) as batches:
        return b"".join(batch["byte"].tobytes() for batch in batches)
