"""Segments: append-only files of commits. A commit contains the rows of one `append`.

The format is documented in `docs/reference/journal_files.md`.
"""

import os
import struct
from typing import Final, NamedTuple

from headrace.core import engine
from headrace.core.errors import DataLossError
from headrace.io.os_errors import os_errors
from headrace.pipeline.journals.rows import RowColumn, decode_rows
from headrace.pipeline.values.types import Specs

__all__ = ["Commit", "SegmentReader", "SegmentWriter"]

_MAGIC: Final = b"HEADRACE-ROWS\0\0\1"
# The magic bytes, the number of the journal, the writer and the number of the segment.
_FIRST: Final = struct.Struct("<16s8sII")
# The kind, the number of rows, the size of the payload, the version of the rows and the checksums
# of the payload and of the preceding bytes.
_COMMIT: Final = struct.Struct("<4sIQqII")
_KIND: Final = b"ROWS"
_CHECKED_BYTES: Final = _COMMIT.size - 4

_FULL: Final = (
    ". The rows of this append were not written, and all earlier rows are intact. Free some space, "
    "for example with Journal.delete_before, and append them again."
)


class Commit(NamedTuple):
    """The rows of one append.

    Attributes:
        path: The segment.
        offset: Where the commit starts, in bytes.
        end: Where the next commit starts.
        num_rows: The number of rows.
        version: The version of the rows.
        columns: The components, in order.
    """

    path: str
    offset: int
    end: int
    num_rows: int
    version: int
    columns: list[RowColumn]


class SegmentWriter:
    """A new segment.

    Args:
        path: The file. It must not exist yet.
        journal: The journal's number.
        writer: The writer's number.
        number: The segment's number.

    Attributes:
        end: The size of the segment in bytes.
    """

    def __init__(self, path: str, journal: str, writer: int, number: int) -> None:
        self._path = path
        self.end = 0
        with os_errors(path, _FULL):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            self._write([_FIRST.pack(_MAGIC, bytes.fromhex(journal), writer, number)])
        except BaseException:
            # Without its first bytes, the file counts as empty and can stay.
            self.close()
            os.unlink(path)
            raise

    def append(self, num_rows: int, version: int, payload: bytes) -> None:
        """Adds a commit. If that fails, the segment stays as it was.

        Raises:
            ResourceExhaustedError: If the disk or a quota is full.
        """
        checked = _COMMIT.pack(_KIND, num_rows, len(payload), version, engine.crc32c(payload), 0)[
            :_CHECKED_BYTES
        ]
        self._write([checked, struct.pack("<I", engine.crc32c(checked)), payload])

    def _write(self, parts: list[bytes]) -> None:
        size = sum(map(len, parts))
        try:
            with os_errors(self._path, _FULL):
                written = os.writev(self._file, parts)
                if written < size:
                    rest = memoryview(b"".join(parts))[written:]
                    while rest:
                        rest = rest[os.write(self._file, rest) :]
        except BaseException:
            if os.fstat(self._file).st_size < self.end + size:
                os.ftruncate(self._file, self.end)
                os.lseek(self._file, self.end, os.SEEK_SET)
            else:
                # Ctrl-C came after the last byte, and a reader may have read the commit.
                self.end += size
            raise
        self.end += size

    def sync(self) -> None:
        """Waits until the segment is on disk."""
        with os_errors(self._path):
            os.fsync(self._file)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)


class SegmentReader:
    """Reads commits of a segment, to which another process may be appending.

    Args:
        path: The file.
        journal: The journal's number.
        writer: The writer's number.
        number: The segment's number.
        specs: The components of a row.
    """

    first_offset: Final = _FIRST.size

    def __init__(self, path: str, journal: str, writer: int, number: int, specs: Specs) -> None:
        self._path = path
        self._first = _FIRST.pack(_MAGIC, bytes.fromhex(journal), writer, number)
        self._specs = specs
        with os_errors(path):
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def size(self) -> int:
        """Returns the size of the file in bytes, including a commit that was cut short."""
        return os.fstat(self._file).st_size

    def read(self, offset: int, is_open: bool) -> Commit | None:
        """Returns the commit at an offset, or None if it is missing or was cut short.

        Args:
            offset: Where the commit starts.
            is_open: Whether the writer may still be writing the commit.

        Raises:
            DataLossError: If the file is damaged.
        """
        # A commit that failed, because the disk was full, is removed and may be replaced.
        head = os.pread(self._file, _COMMIT.size, offset)
        if len(head) < _COMMIT.size:
            return None
        if offset == _FIRST.size and os.pread(self._file, offset, 0) != self._first:
            raise self._damaged(offset, "the first bytes of the segment are wrong")
        kind, num_rows, num_bytes, version, checksum, head_checksum = _COMMIT.unpack(head)
        if kind != _KIND or engine.crc32c(head[:_CHECKED_BYTES]) != head_checksum:
            if is_open and self._is_being_written(offset, head, offset + _COMMIT.size):
                return None
            raise self._damaged(offset, "the checksum of the header does not match")
        end = offset + _COMMIT.size + num_bytes
        if self.size() < end:
            return None
        payload = os.pread(self._file, num_bytes, offset + _COMMIT.size)
        if engine.crc32c(payload) != checksum:
            if is_open and self._is_being_written(offset, head, end):
                return None
            raise self._damaged(offset, "the checksum of the rows does not match")
        try:
            columns = decode_rows(payload, num_rows, self._specs)
        except ValueError as error:
            raise self._damaged(offset, str(error)) from error
        return Commit(self._path, offset, end, num_rows, version, columns)

    def _is_being_written(self, offset: int, head: bytes, end: int) -> bool:
        """Returns whether a commit has changed since its first bytes were read, or is the last."""
        return os.pread(self._file, len(head), offset) != head or self.size() <= end

    def _damaged(self, offset: int, what: str) -> DataLossError:
        number, at = 0, _FIRST.size
        while at < offset:
            head = os.pread(self._file, _COMMIT.size, at)
            at += _COMMIT.size + _COMMIT.unpack(head)[2]
            number += 1
        return DataLossError(
            None,
            None,
            f"{self._path}: commit {number} at byte {offset} is damaged: {what}. Restore the file "
            "from a copy, or continue with a new journal.",
        )

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)
