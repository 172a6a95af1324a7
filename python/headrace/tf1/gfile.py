"""Files and directories under TensorFlow's names, with TensorFlow's errors.

Source: `tf.gfile` in TensorFlow 1.15.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Final, NoReturn, Protocol

from headrace.core import errors
from headrace.core.allocation_guard import check_bytes
from headrace.io import storage
from headrace.io.atomic_file import AtomicFile
from headrace.io.glob import matching_paths
from headrace.io.os_errors import os_errors

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]

_Path = str | bytes | os.PathLike[str]

_INCOMPLETE: Final = ". The file is incomplete and accepts no more writes. Write it again."
# Python allocates the requested number of bytes before reading.
_CHUNK_BYTES: Final = 1 << 20

_MODES: Final = ("r", "w", "a", "r+", "w+", "a+")


class _Writer(Protocol):
    """A file that is open for writing."""

    def write(self, data: bytes, /) -> object: ...
    def tell(self) -> int: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class GFile:
    """A file with separate positions for reading and writing. It is opened on first use.

    A remote file is first written to this machine. `flush` and `close` then upload the whole file.

    Args:
        name: The name.
        mode: "r", "w" or "a", with or without "+" and "b". Reads return bytes with "b", and UTF-8
            text otherwise. You can always write both. "r+" and "w" truncate the file on the first
            write.

    Raises:
        InvalidArgumentError: If the mode does not exist.
        PermissionDeniedError: From the methods, if the file is not open for reading or writing.
        ResourceExhaustedError: From the methods, if the disk is full. The file is then incomplete,
            and all later writes and `close` fail in the same way.
    """

    def __init__(self, name: _Path, mode: str = "r") -> None:
        if mode.replace("b", "") not in _MODES:
            text = f"mode is {mode!r}, expected one of {', '.join(_MODES)}, with or without b"
            raise errors.InvalidArgumentError(None, None, text)
        self.name = os.fsdecode(name)
        self.mode = mode
        self._reader: IO[bytes] | None = None
        self._writer: _Writer | None = None
        # The error that left the bytes written since opening the file incomplete.
        self._failure: errors.OpError | None = None

    def size(self) -> int:
        """Returns the size of the file in bytes.

        Raises:
            FailedPreconditionError: If the server does not report the size.
        """
        return Stat(self.name).length

    def read(self, n: int = -1) -> Any:
        """Returns the next `n` bytes, or all remaining bytes, as bytes or text.

        Raises:
            ResourceExhaustedError: If the data can never fit into memory.
        """
        with os_errors(self.name):
            reader = self._reading()
            size = storage.known_size_of(reader)
            num_left = max(n, 0) if size is None else size
            check_bytes(num_left if n < 0 else min(n, num_left), self.name)
            return self._as_given(_read(reader, n) if n > _CHUNK_BYTES else reader.read(max(n, -1)))

    def readline(self) -> Any:
        """Returns the next line without carriage returns, as bytes or text, or "" at the end."""
        with os_errors(self.name):
            return self._as_given(self._reading().readline().replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """Returns all remaining lines."""
        return list(self)

    def write(self, file_content: bytes | str) -> None:
        """Appends bytes, or text in UTF-8."""
        data = file_content.encode() if isinstance(file_content, str) else file_content
        with os_errors(self.name):
            writer = self._writing()
        with self._complete():
            writer.write(data)

    def seekable(self) -> bool:
        """Returns True."""
        return True

    def seek(
        self, offset: int | None = None, whence: int = os.SEEK_SET, position: int | None = None
    ) -> None:
        """Sets the position of the next read.

        Args:
            offset: The byte position, relative to `whence`.
            whence: 0 for the start, 1 for the current position, 2 for the end.
            position: The old name of `offset`, relative to the start.

        Raises:
            InvalidArgumentError: If the position is negative, or `whence` is invalid.
            OutOfRangeError: If the position is past the end.
            TypeError: If both or neither of `offset` and `position` are given.
        """
        if position is not None:
            if offset is not None:
                raise TypeError("seek(): offset and position may not be set simultaneously.")
            offset, whence = position, os.SEEK_SET
        if offset is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            text = f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            raise errors.InvalidArgumentError(None, None, text)
        with os_errors(self.name):
            reader = self._reading()
            size = storage.size_of(reader)
            start = {os.SEEK_SET: 0, os.SEEK_CUR: reader.tell(), os.SEEK_END: size}[whence]
            if start + offset < 0:
                text = f"{self.name}: cannot seek to byte {start + offset}. The first byte is 0."
                raise errors.InvalidArgumentError(None, None, text)
            if start + offset > size:
                text = f"{self.name}: cannot seek to byte {start + offset} of {size}"
                raise errors.OutOfRangeError(None, None, text)
            reader.seek(start + offset)

    def tell(self) -> int:
        """Returns the position of the next read, or of the next write in a write-only file."""
        with os_errors(self.name):
            return (self._reading() if self._is_for("r+") else self._writing()).tell()

    def flush(self) -> None:
        """Flushes written data to the operating system."""
        if self._writer is not None:
            with self._complete():
                self._writer.flush()

    def close(self) -> None:
        """Closes the file. The next use opens it again."""
        reader, writer, failure = self._reader, self._writer, self._failure
        self._reader = self._writer = self._failure = None
        if reader is not None:
            reader.close()
        if writer is not None and failure is not None:
            _abandon(writer)
            raise failure
        if writer is not None:
            with os_errors(self.name, _INCOMPLETE):
                writer.close()

    def __iter__(self) -> "GFile":
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self) -> "GFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _complete(self) -> Iterator[None]:
        """Runs the `with` block unless an earlier write failed, which would leave a gap."""
        if self._failure is not None:
            raise self._failure
        try:
            with os_errors(self.name, _INCOMPLETE):
                yield
        except errors.OpError as error:
            self._failure = error.with_traceback(None)
            raise

    def _reading(self) -> IO[bytes]:
        if self._reader is None:
            if not self._is_for("r+"):
                self._refuse("reading")
            self._reader = storage.open_file(self.name)
        return self._reader

    def _writing(self) -> _Writer:
        if self._writer is None:
            if not self._is_for("wa+"):
                self._refuse("writing")
            self._writer = _open_for_writing(self.name, appends="a" in self.mode)
        return self._writer

    def _is_for(self, letters: str) -> bool:
        return bool(set(letters) & set(self.mode))

    def _refuse(self, use: str) -> NoReturn:
        text = f"{self.name}: File isn't open for {use}: its mode is {self.mode!r}"
        raise errors.PermissionDeniedError(None, None, text)

    def _as_given(self, data: bytes) -> bytes | str:
        return data if "b" in self.mode else data.decode()


Open = FastGFile = GFile


class _Upload:
    """A remote file that is being written."""

    def __init__(self, url: str, appends: bool) -> None:
        self._file = AtomicFile(url)
        if appends and storage.exists(url):
            with storage.open_file(url) as before:
                shutil.copyfileobj(before, self._file, _CHUNK_BYTES)

    def write(self, data: bytes, /) -> int:
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        self._file.upload()

    def close(self) -> None:
        try:
            self._file.publish()
        finally:
            self._file.discard()

    def discard(self) -> None:
        self._file.discard()


def _open_for_writing(name: str, appends: bool) -> _Writer:
    if storage.is_remote(name):
        return _Upload(name, appends)
    return open(storage.local_path(name), "ab" if appends else "wb")


def _abandon(writer: _Writer) -> None:
    """Closes a file without writing its buffer."""
    if isinstance(writer, _Upload):
        writer.discard()
    else:
        writer.raw.close()  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """The metadata of a file.

    Attributes:
        length: The size in bytes.
        mtime_nsec: The time of the last change, in nanoseconds since 1970.
        is_directory: Whether the path is a directory.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def Stat(filename: _Path) -> FileStatistics:
    """Returns the metadata of a file or directory.

    Raises:
        FailedPreconditionError: If the server does not report the length of the file.
        NotFoundError: If the path does not exist.
    """
    status = storage.status(os.fsdecode(filename))
    if status.length < 0:
        raise storage.unknown_size(status.path)
    return FileStatistics(status.length, status.modified_ns, status.is_directory)


def Exists(filename: _Path) -> bool:
    """Returns whether a file or directory exists."""
    return storage.exists(os.fsdecode(filename))


def IsDirectory(dirname: _Path) -> bool:
    """Returns whether a path is an existing directory."""
    return storage.is_directory(os.fsdecode(dirname))


def Glob(filename: _Path | Sequence[_Path]) -> list[str]:
    """Returns the sorted names that match a pattern. The results for several patterns are joined.

    See `matching_files` for patterns.
    """
    patterns = [filename] if isinstance(filename, (str, bytes, os.PathLike)) else filename
    paths = [path for pattern in patterns for path in sorted(matching_paths(os.fspath(pattern)))]
    return [os.fsdecode(path) for path in paths]


def ListDirectory(dirname: _Path) -> list[str]:
    """Returns the names in a directory.

    Raises:
        NotFoundError: If the directory does not exist.
    """
    if not IsDirectory(dirname):
        text = f"Could not find directory {os.fsdecode(dirname)}"
        raise errors.NotFoundError(None, None, text)
    directory = os.fsdecode(dirname)
    if storage.is_remote(directory):
        return [entry.path.rpartition("/")[2] for entry in storage.entries(directory)]
    with os_errors(directory):
        return sorted(os.listdir(storage.local_path(directory)))


def Walk(top: _Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields a directory and all directories below it, with the names of their entries.

    Args:
        top: The directory to start at.
        in_order: If True, a directory comes before its subdirectories.

    Yields:
        The directory, the names of its subdirectories, and the names of its files.

    Raises:
        PermissionDeniedError: If a directory cannot be listed.
    """

    def fail(error: OSError) -> None:
        # As in TensorFlow, entries that are not directories or no longer exist are skipped.
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            with os_errors(error.filename):
                raise error

    directory = os.fsdecode(top)
    if storage.is_remote(directory):
        yield from _walk_remote(directory, in_order)
    else:
        yield from os.walk(storage.local_path(directory), topdown=in_order, onerror=fail)


def _walk_remote(top: str, in_order: bool) -> Iterator[tuple[str, list[str], list[str]]]:
    inside = storage.entries(top)
    if not inside:
        return
    directories = [entry.path for entry in inside if entry.is_directory]
    files = [entry.path.rpartition("/")[2] for entry in inside if not entry.is_directory]
    here = (top, [path.rpartition("/")[2] for path in directories], files)
    if in_order:
        yield here
    for path in directories:
        yield from _walk_remote(path, in_order)
    if not in_order:
        yield here


def MakeDirs(dirname: _Path) -> None:
    """Creates a directory and its parents if they do not exist.

    Raises:
        FailedPreconditionError: If one of the paths is a file.
        PermissionDeniedError: If the directory cannot be created.
    """
    path = os.fsdecode(dirname)
    if storage.is_remote(path):
        return  # Object stores have no directories: every prefix of a name counts as one.
    if os.path.isfile(storage.local_path(path)):
        text = f"{path} is not a directory"
        raise errors.FailedPreconditionError(None, None, text)
    with os_errors(path):
        os.makedirs(storage.local_path(path), exist_ok=True)


def MkDir(dirname: _Path) -> None:
    """Creates a directory, unless a file or directory with this name exists.

    Raises:
        NotFoundError: If the parent directory does not exist.
    """
    path = os.fsdecode(dirname)
    if storage.is_remote(path):
        return
    with os_errors(path), suppress(FileExistsError):
        os.mkdir(storage.local_path(path))


def Remove(filename: _Path) -> None:
    """Removes a file.

    Raises:
        FailedPreconditionError: If the path is a directory.
        NotFoundError: If the file does not exist.
    """
    storage.remove(os.fsdecode(filename))


def DeleteRecursively(dirname: _Path) -> None:
    """Removes a directory and everything in it.

    Raises:
        NotFoundError: If the directory does not exist.
    """
    path = os.fsdecode(dirname)
    if storage.is_remote(path):
        inside = storage.files_below(path)
        for entry in inside:
            storage.remove(entry.path)
        if inside:
            return
    local = storage.local_path(path)
    with os_errors(path):
        if not storage.is_remote(path) and os.path.isdir(local):
            shutil.rmtree(local)
        else:
            storage.remove(path)


def Rename(oldname: _Path, newname: _Path, overwrite: bool = False) -> None:
    """Renames a file.

    Raises:
        AlreadyExistsError: If the new name exists and `overwrite` is False.
        NotFoundError: If the file does not exist.
    """
    _check_free(newname, overwrite)
    old, new = os.fsdecode(oldname), os.fsdecode(newname)
    if storage.is_remote(old) or storage.is_remote(new):
        storage.copy(old, new)
        storage.remove(old)
        return
    with os_errors(new), os_errors(old):
        os.replace(storage.local_path(old), storage.local_path(new))


def Copy(oldpath: _Path, newpath: _Path, overwrite: bool = False) -> None:
    """Copies a file. An existing file keeps its mode, and does not change if copying fails.

    Raises:
        AlreadyExistsError: If the new name exists and `overwrite` is False.
        FailedPreconditionError: If one of the paths is a directory.
        NotFoundError: If the file does not exist.
    """
    _check_free(newpath, overwrite)
    storage.copy(os.fsdecode(oldpath), os.fsdecode(newpath))


def _check_free(path: _Path, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        text = f"{os.fsdecode(path)}: file already exists. Pass overwrite=True to replace it."
        raise errors.AlreadyExistsError(None, None, text)


def _read(reader: IO[bytes], n: int) -> bytes:
    """Reads up to `n` bytes. Allocates no more memory than the file needs."""
    parts = []
    while n > 0 and (part := reader.read(min(n, _CHUNK_BYTES))):
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def __dir__() -> list[str]:
    return sorted(__all__)
