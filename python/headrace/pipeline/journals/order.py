"""The order of arrival: which rows readers have delivered or dropped, in order.

It consists of text files with one line per block of examples. The first line of each file contains
everything that a reader needs to continue from there. The format is documented in
`docs/reference/journal_files.md`.
"""

import json
import os
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.core import engine
from headrace.core.errors import DataLossError, FailedPreconditionError
from headrace.io.atomic_file import replacing
from headrace.io.os_errors import os_errors
from headrace.pipeline.journals.directory import JournalDirectory
from headrace.pipeline.journals.locks import FileLock

__all__ = ["Content", "Line", "OrderLog", "Run", "Start"]

# The version of the format. Raise it if the meaning of a line changes.
_VERSION: Final = 1
_READ_BYTES: Final = 1 << 16
# Once a file has this many bytes of lines, a new one is started.
_FILE_BYTES: Final = 1 << 17
_DIGITS: Final = 8

_FULL: Final = (
    ". The order of arrival could not be recorded, so no more rows were delivered. All files are "
    "intact. Free some space, for example with Journal.delete_before, and resume."
)

# Consecutive rows of a commit: the writer, the segment, the commit's offset, the first row and the
# number of rows.
Run: TypeAlias = tuple[int, int, int, int, int]
Content: TypeAlias = dict[str, Any]


class Start(NamedTuple):
    """The position of a line: the number of the file, and the offset in bytes."""

    file: int
    offset: int


class Line(NamedTuple):
    """A line of the order of arrival.

    Attributes:
        start: The position of the line.
        content: The content of the line. The first line of a file has the key "file". Other lines
            have "r" for the rows of examples, "d" for dropped rows, "v" for a new version, or
            "end".
    """

    start: Start
    content: Content


class OrderLog:
    """Reads and extends the order of arrival of a journal.

    Several processes can do this at the same time. Only the process that holds the lock extends it.

    Args:
        files: The journal's files.
        journal: The journal's number.
    """

    def __init__(self, files: JournalDirectory, journal: str) -> None:
        self._files = files
        self._journal = journal
        self._file = -1
        self._path = ""
        self._buffer = b""
        # The length of the first line.
        self._first_bytes = 0
        # The next line is at this position; the buffer starts there.
        self.next = Start(-1, 0)

    def open(self, number: int) -> None:
        """Continues with the first line of a file."""
        self.close()
        self._path = self._files.order(number)
        with os_errors(self._path):
            self._file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        self.next = Start(number, 0)

    @property
    def is_open(self) -> bool:
        """Whether a file is open."""
        return self._file >= 0

    @property
    def is_full(self) -> bool:
        """Whether another file should follow."""
        return self.next.offset - self._first_bytes >= _FILE_BYTES

    def read(self) -> Line | None:
        """Returns the next line, or None at the end or if the last line was cut short.

        Raises:
            DataLossError: If the line is damaged.
            FailedPreconditionError: If another version of this package wrote the file.
        """
        line = self._read_line()
        if line is None and os.path.exists(self._files.order(self.next.file + 1)):
            # The file was finished before the next one appeared.
            line = self._read_line()
            if line is None:
                if os.fstat(self._file).st_size > self.next.offset:
                    raise self._damaged("the line was cut short")
                self.open(self.next.file + 1)
                line = self._read_line()
        if line is None:
            return None
        content = self._content(line)
        start = self.next
        if start.offset == 0:
            self._check_first(content)
            self._first_bytes = len(line)
        self.next = Start(start.file, start.offset + len(line))
        return Line(start, content)

    def _read_line(self) -> bytes | None:
        """Returns the bytes of the next line, and removes them from the buffer."""
        while (end := self._buffer.find(b"\n") + 1) == 0:
            offset = self.next.offset + len(self._buffer)
            more = os.pread(self._file, _READ_BYTES, offset)
            if not more:
                # Another process may remove a line that was cut short.
                self._buffer = b""
                return None
            self._buffer += more
        line, self._buffer = self._buffer[:end], self._buffer[end:]
        return line

    def _content(self, line: bytes) -> Content:
        try:
            checksum = int(line[:_DIGITS], 16)
        except ValueError:
            checksum = -1
        if checksum != engine.crc32c(line[_DIGITS + 1 : -1]):
            raise self._damaged("the checksum does not match")
        content: Content = json.loads(line[_DIGITS + 1 : -1])
        return content

    def _damaged(self, what: str) -> DataLossError:
        number = os.pread(self._file, self.next.offset, 0).count(b"\n") + 1
        return DataLossError(
            None,
            None,
            f"{self._path}: line {number} at byte {self.next.offset} is damaged: {what}. Restore "
            "the file from a copy, or continue with a new journal.",
        )

    def _check_first(self, content: Content) -> None:
        version = content["version"]
        if version > _VERSION:
            raise FailedPreconditionError(
                None,
                None,
                f"{self._path}: the order of arrival has version {version}, but this version of "
                f"headrace reads only versions up to {_VERSION}. Update headrace.",
            )
        if content["journal"] != self._journal:
            raise FailedPreconditionError(
                None,
                None,
                f"{self._path}: the file belongs to journal {content['journal']}, not to "
                f"{self._journal}. Keep the files of different journals in different directories.",
            )

    def lock(self) -> FileLock | None:
        """Locks the order of arrival, or returns None if another process holds the lock."""
        with os_errors(self._files.order_lock):
            return FileLock.acquire(self._files.order_lock)

    def create(self, number: int, content: Content) -> None:
        """Adds a file with its first line. Requires the lock."""
        self._remove_cut_line()
        first = {"version": _VERSION, "journal": self._journal, "file": number, **content}
        path = self._files.order(number)
        with os_errors(path, _FULL), replacing(path) as file:
            file.write(_line(first))

    def append(self, content: Content) -> Start:
        """Adds a line, and returns its position. Needs the lock, and all lines must have been read.

        Raises:
            ResourceExhaustedError: If the disk or a quota is full. The file stays as it was.
        """
        start, line = self.next, _line(content)
        self._remove_cut_line()
        try:
            with os_errors(self._path, _FULL):
                rest = memoryview(line)
                while rest:
                    rest = rest[os.pwrite(self._file, rest, start.offset + len(line) - len(rest)) :]
        except BaseException:
            os.ftruncate(self._file, start.offset)
            raise
        self.next = Start(start.file, start.offset + len(line))
        return start

    def _remove_cut_line(self) -> None:
        """Removes a partial line that a killed process has left behind."""
        if self.is_open and os.fstat(self._file).st_size > self.next.offset:
            os.ftruncate(self._file, self.next.offset)

    def close(self) -> None:
        """Closes the file."""
        file, self._file, self._buffer = self._file, -1, b""
        if file >= 0:
            os.close(file)


def _line(content: Content) -> bytes:
    text = json.dumps(content, separators=(",", ":")).encode()
    return b"%08x %s\n" % (engine.crc32c(text), text)
