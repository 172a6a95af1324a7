"""Records the progress of a run that writes files, in a hidden file next to its output.

The first line stores the arguments of the run. Each further line describes a complete shard and
where the next one starts. A line that was truncated by a kill is ignored. The file is locked while
a process uses it, except in remote storage, which has no locks.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from types import TracebackType
from typing import Any, Final, Self

from headrace.core.errors import AlreadyExistsError, FailedPreconditionError
from headrace.io import storage
from headrace.io.atomic_file import replacing
from headrace.io.os_errors import os_errors

__all__ = ["Journal"]

# The version of the line format. Raise it if the format or its meaning changes.
_VERSION: Final = 1


class Journal:
    """The journal of one output.

    Args:
        output: The output.
        program: The program or function that writes the output, such as "headrace convert".

    Attributes:
        path: The journal file.
        header: The arguments of the run, or None if no run has started.
        done: The finished shards, in order.
        is_needed: Whether a file that is not in `done` may already have its final name.

    Raises:
        AlreadyExistsError: If another process is using the journal.
        FailedPreconditionError: If another version of this package wrote the journal.
    """

    def __init__(self, output: str, program: str) -> None:
        self._program = program
        is_remote = storage.is_remote(output)
        directory, base = os.path.split(output if is_remote else os.path.normpath(output))
        self.path = os.path.join(directory, f".{base}.{program.replace(' ', '-')}")
        self._file = _RemoteFile(self.path) if is_remote else _LocalFile(self.path)
        if not self._file.is_mine:
            raise AlreadyExistsError(
                None,
                None,
                f"{output}: another {program} is already running for this output. Wait until it "
                "has finished.",
            )
        self.header: dict[str, Any] | None = None
        self.done: list[dict[str, Any]] = []
        self.is_needed = False
        self._read()

    def begin(self, header: dict[str, Any]) -> None:
        """Clears the journal and writes the first line."""
        self._file.truncate(0)
        self.header, self.done = header, []
        self._append({"format": self._program, "version": _VERSION, **header})

    def add(self, line: dict[str, Any]) -> None:
        """Adds a line for a finished shard, and waits until it is on disk."""
        self.done.append(line)
        self._append(line)

    def remove(self) -> None:
        """Removes the journal once the run is complete."""
        self._file.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not (self.done or self.is_needed):
            # No shard is complete, so there is nothing to continue.
            self._file.remove()
        self._file.close()

    def _read(self) -> None:
        total = 0
        for line in self._file.read().splitlines(keepends=True):
            content = _content(line)
            if content is None:
                break
            total += len(line)
            if self.header is None:
                self.header = self._header(content)
            else:
                self.done.append(content)
        self._file.truncate(total)

    def _header(self, content: dict[str, Any]) -> dict[str, Any]:
        if content.pop("format", None) != self._program or content.pop("version", None) != _VERSION:
            raise FailedPreconditionError(
                None,
                None,
                f"{self.path}: this file was written by a different version of headrace. Remove it "
                "and all output of that run, and start again.",
            )
        return content

    def _append(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":"), sort_keys=True)
        data = f"{zlib.crc32(text.encode()):08x} {text}\n".encode()
        self._file.append(data)


class _LocalFile:
    """A local file, protected by a lock."""

    def __init__(self, path: str) -> None:
        self._path = path
        with os_errors(path, ". Choose an output directory that you can write to."):
            self._file = _locked(path)
        self.is_mine = self._file >= 0

    def read(self) -> bytes:
        with open(os.dup(self._file), "rb") as file:
            return file.read()

    def truncate(self, length: int) -> None:
        with os_errors(self._path):
            os.ftruncate(self._file, length)
            os.lseek(self._file, length, os.SEEK_SET)

    def append(self, data: bytes) -> None:
        with os_errors(self._path):
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)

    def remove(self) -> None:
        with os_errors(self._path):
            if os.path.exists(self._path):
                os.unlink(self._path)

    def close(self) -> None:
        os.close(self._file)


class _RemoteFile:
    """A file in remote storage. Every change replaces the whole file."""

    is_mine = True

    def __init__(self, path: str) -> None:
        self._path = path
        self._is_there = storage.statuses([path]) != [None]
        self._data = b""
        if self._is_there:
            with storage.open_file(path) as file:
                self._data = file.read()

    def read(self) -> bytes:
        return self._data

    def truncate(self, length: int) -> None:
        # The next append replaces the file.
        self._data = self._data[:length]

    def append(self, data: bytes) -> None:
        with replacing(self._path) as file:
            file.write(self._data + data)
        self._data, self._is_there = self._data + data, True

    def remove(self) -> None:
        if self._is_there:
            storage.remove(self._path)
            self._is_there = False

    def close(self) -> None:
        pass


def _locked(path: str) -> int:
    """Opens and locks a file. Returns its descriptor, or -1 if another process has locked it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return -1
        # The previous holder of the lock may have removed the file in the meantime.
        if os.path.exists(path) and os.path.samestat(os.fstat(file), os.stat(path)):
            return file
        os.close(file)


def _content(line: bytes) -> dict[str, Any] | None:
    """Returns the content of a line, or None if it was truncated."""
    checksum, _, text = line.partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text[:-1]):
        return None
    content = json.loads(text)
    return content if isinstance(content, dict) else None
