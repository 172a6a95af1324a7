"""Atomic file replacement. Every file that the package replaces goes through this module.

The data goes to a temporary file in the same directory, which is then renamed. Readers therefore
see either the old file or the new one. If the writer fails or is killed, the old file is kept. The
new file has the mode of the old one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from headrace.core import engine

__all__ = ["AtomicFile", "replacing"]


class AtomicFile:
    """A file that is being written. When it is published, it replaces the file at its path.

    When used as a context manager, it discards the file at the end unless it has been published.

    If the path is not a regular file (such as a pipe or a device), or its directory does not allow
    new files, the file is written directly. A symbolic link is kept, and its target is replaced.

    Args:
        path: The path of the file.

    Raises:
        FailedPreconditionError: If the path is a directory.
        NotFoundError: If its directory does not exist.
        PermissionDeniedError: If you don't have permission to write it.
        ResourceExhaustedError: Raised by the methods, if there is no space left.
    """

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None:
        self._num_bytes = 0
        with _op_errors():
            self._file = engine.AtomicFile(os.fsencode(path))

    def keep_mode_of(self, path: str | bytes | os.PathLike[str]) -> None:
        """Copies the mode of an existing file. Must be called before anything is written."""
        with _op_errors():
            self._file.keep_mode_of(os.fsencode(path))

    def write(self, data: bytes) -> int:
        """Appends bytes, and returns their number."""
        with _op_errors():
            self._file.write(data)
        self._num_bytes += len(data)
        return len(data)

    def tell(self) -> int:
        """Returns how many bytes have been written."""
        return self._num_bytes

    def sync(self) -> None:
        """Waits until the data written so far is on disk."""
        with _op_errors():
            self._file.sync()

    def upload(self) -> None:
        """Uploads the data written so far to a remote file. More data can be written afterwards."""
        with _op_errors():
            self._file.upload()

    def publish(self) -> None:
        """Renames the file to its final name. Nothing can be written afterwards."""
        with _op_errors():
            self._file.publish()

    def discard(self) -> None:
        """Removes the file, unless it has been published."""
        self._file.discard()

    def __enter__(self) -> "AtomicFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.discard()


@contextmanager
def replacing(path: str | bytes | os.PathLike[str]) -> Iterator[AtomicFile]:
    """Opens a file that replaces `path` if the body succeeds.

    If the body fails or the file cannot be written, the old file is kept.

    Args:
        path: See `AtomicFile`, which also describes the errors.

    Yields:
        The file.
    """
    with AtomicFile(path) as file:
        yield file
        file.publish()


@contextmanager
def _op_errors() -> Iterator[None]:
    try:
        yield
    except engine.EngineError as error:
        engine.raise_op_error(error)
