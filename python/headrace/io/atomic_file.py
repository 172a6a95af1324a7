"""Files that are replaced atomically: the one way in which the package replaces a file.

The data goes to a temporary file in the same directory, which is then renamed. So a reader finds
the old file or the new one, and a writer that fails or is killed leaves the old one. The new file
has the mode of the old one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from headrace.core import engine

__all__ = ["AtomicFile", "replacing"]


class AtomicFile:
    """A file that is being written, and replaces the file of its name when it is published.

    As a context manager it is discarded at the end if it is not published by then.

    A file that is not regular (a pipe, a device) is written directly, and so is a file in a
    directory where files cannot be created. A symbolic link stays, and its target is replaced.

    Args:
        path: Its name.

    Raises:
        FailedPreconditionError: If it is a directory.
        NotFoundError: If there is no directory to write it in.
        PermissionDeniedError: If it may not be written there.
        ResourceExhaustedError: From the methods, if there is no room for it.
    """

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None:
        self._num_bytes = 0
        with _op_errors():
            self._file = engine.AtomicFile(os.fsencode(path))

    def keep_mode_of(self, path: str | bytes | os.PathLike[str]) -> None:
        """Gives the file the mode of another one; to be called before anything is written."""
        with _op_errors():
            self._file.keep_mode_of(os.fsencode(path))

    def write(self, data: bytes) -> int:
        """Appends bytes and returns how many."""
        with _op_errors():
            self._file.write(data)
        self._num_bytes += len(data)
        return len(data)

    def tell(self) -> int:
        """Returns how many bytes were written."""
        return self._num_bytes

    def sync(self) -> None:
        """Waits until what was written would survive the loss of power."""
        with _op_errors():
            self._file.sync()

    def upload(self) -> None:
        """Puts what was written so far into a remote file of its name; more may be written."""
        with _op_errors():
            self._file.upload()

    def publish(self) -> None:
        """Gives the file its name. Nothing can be written after that."""
        with _op_errors():
            self._file.publish()

    def discard(self) -> None:
        """Removes the file, unless it is published."""
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
    """Opens a file that takes the place of `path` when the body has succeeded.

    If the body fails, or the file cannot be written, the old file stays.

    Args:
        path: See `AtomicFile`, as for the errors.

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
