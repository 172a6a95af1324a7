"""The progress of a run that writes: a hidden file beside its output.

Its first line has the arguments of the run; each other line names a complete shard and the
beginning of the next one. A line that was cut short by a kill is ignored. The file is locked while
a process works with it.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from types import TracebackType
from typing import Any, Final, Self

from headrace.core.errors import AlreadyExistsError, FailedPreconditionError
from headrace.io.os_errors import os_errors

__all__ = ["Journal"]

# The version of the lines and their meaning. Any change of either needs a new one.
_VERSION: Final = 1


class Journal:
    """The journal of one output.

    Args:
        output: The output.
        program: The program or function that writes it, such as "headrace convert".

    Attributes:
        path: The file of the journal.
        header: The arguments of the run; None if none was begun.
        done: The finished parts, in order.
        is_needed: Whether a file that is not in `done` may already have its final name.

    Raises:
        AlreadyExistsError: If another process works with it.
        FailedPreconditionError: If another version of this package wrote it.
    """

    def __init__(self, output: str, program: str) -> None:
        self._program = program
        directory, base = os.path.split(os.path.normpath(output))
        self.path = os.path.join(directory, f".{base}.{program.replace(' ', '-')}")
        with os_errors(self.path, ". Give an output in a directory that can be written."):
            self._file = _locked(self.path)
        if self._file < 0:
            raise AlreadyExistsError(
                None, None, f"{output}: another {program} is writing it. Wait for its end."
            )
        self.header: dict[str, Any] | None = None
        self.done: list[dict[str, Any]] = []
        self.is_needed = False
        self._read()

    def begin(self, header: dict[str, Any]) -> None:
        """Clears the journal, and writes the first line."""
        with os_errors(self.path):
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
        self.header, self.done = header, []
        self._append({"format": self._program, "version": _VERSION, **header})

    def add(self, line: dict[str, Any]) -> None:
        """Adds a line for a finished part, durably."""
        self.done.append(line)
        self._append(line)

    def remove(self) -> None:
        """Removes the file, once all is done."""
        with os_errors(self.path):
            os.unlink(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not (self.done or self.is_needed) and os.path.exists(self.path):
            # There is no finished work to continue from.
            os.unlink(self.path)
        os.close(self._file)

    def _read(self) -> None:
        with open(os.dup(self._file), "rb") as file:
            data = file.read()
        whole = 0
        for line in data.splitlines(keepends=True):
            content = _content(line)
            if content is None:
                break
            whole += len(line)
            if self.header is None:
                self.header = self._header(content)
            else:
                self.done.append(content)
        with os_errors(self.path):
            os.ftruncate(self._file, whole)
            os.lseek(self._file, whole, os.SEEK_SET)

    def _header(self, content: dict[str, Any]) -> dict[str, Any]:
        if content.pop("format", None) != self._program or content.pop("version", None) != _VERSION:
            raise FailedPreconditionError(
                None,
                None,
                f"{self.path}: it was written by another version of headrace. Remove this file and "
                "what was written, and start again.",
            )
        return content

    def _append(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":"), sort_keys=True)
        data = f"{zlib.crc32(text.encode()):08x} {text}\n".encode()
        with os_errors(self.path):
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)


def _locked(path: str) -> int:
    """Opens and locks a file; returns its descriptor, or -1 if another process has locked it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return -1
        # The previous holder of the lock may have removed the file meanwhile.
        if os.path.exists(path) and os.path.samestat(os.fstat(file), os.stat(path)):
            return file
        os.close(file)


def _content(line: bytes) -> dict[str, Any] | None:
    """Returns the content of a line; None if it was cut short."""
    checksum, _, text = line.partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text[:-1]):
        return None
    content = json.loads(text)
    return content if isinstance(content, dict) else None
