"""Files and directories under TensorFlow's names, with TensorFlow's errors.

Source: `tf.gfile` of TensorFlow 1.15.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedWriter
from types import TracebackType
from typing import IO, Any, Final, NoReturn

from headrace import errors
from headrace.atomic_file import replacing
from headrace.glob import matching_paths
from headrace.memory import check_bytes
from headrace.os_errors import os_errors

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

_INCOMPLETE: Final = ". The file is incomplete and takes nothing more. Write it again."
# Python allocates as many bytes as it is asked for before it reads.
_CHUNK_BYTES: Final = 1 << 20

_MODES: Final = ("r", "w", "a", "r+", "w+", "a+")


class GFile:
    """A file, opened when it is first used, for reading and writing at separate positions.

    Args:
        name: Its name.
        mode: "r", "w", "a", each with a "+" and a "b" or without. With "b" what is read is bytes,
            without it text in UTF-8. Both can be written. "r+" and "w" begin an empty file when
            something is first written.

    Raises:
        InvalidArgumentError: If there is no such mode.
        PermissionDeniedError: From the methods, if the file is not open for what they do.
        ResourceExhaustedError: From the methods, if there is no room for what is written. All
            writes after that fail in the same way, and so does `close`: the file is incomplete.
    """

    def __init__(self, name: _Path, mode: str = "r") -> None:
        if mode.replace("b", "") not in _MODES:
            text = f"mode is {mode!r}, expected one of {', '.join(_MODES)}, with or without b"
            raise errors.InvalidArgumentError(None, None, text)
        self.name = os.fsdecode(name)
        self.mode = mode
        self._reader: IO[bytes] | None = None
        self._writer: BufferedWriter | None = None
        # Why what was written since the file was opened is incomplete.
        self._failure: errors.OpError | None = None

    def size(self) -> int:
        """Returns the size of the file in bytes."""
        with os_errors(self.name):
            return os.path.getsize(self.name)

    def read(self, n: int = -1) -> Any:
        """Returns the next `n` bytes, or all that are left, as bytes or text.

        Raises:
            ResourceExhaustedError: If memory can never hold as many.
        """
        with os_errors(self.name):
            reader = self._reading()
            num_left = os.fstat(reader.fileno()).st_size
            check_bytes(num_left if n < 0 else min(n, num_left), self.name)
            return self._as_given(_read(reader, n) if n > _CHUNK_BYTES else reader.read(max(n, -1)))

    def readline(self) -> Any:
        """Returns the next line without carriage returns, as bytes or text; empty at the end."""
        with os_errors(self.name):
            return self._as_given(self._reading().readline().replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """Returns all lines that are left."""
        return list(self)

    def write(self, file_content: bytes | str) -> None:
        """Appends bytes, or text in UTF-8."""
        data = file_content.encode() if isinstance(file_content, str) else file_content
        with os_errors(self.name):
            writer = self._writing()
        with self._complete():
            writer.write(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> None:
        """Moves the next read to a byte.

        Raises:
            InvalidArgumentError: If it is before the beginning.
            OutOfRangeError: If it is past the end.
        """
        with os_errors(self.name):
            reader = self._reading()
            size = os.fstat(reader.fileno()).st_size
            start = {os.SEEK_SET: 0, os.SEEK_CUR: reader.tell(), os.SEEK_END: size}[whence]
            if start + offset < 0:
                text = f"{self.name}: cannot go to byte {start + offset}. Give one from 0 on."
                raise errors.InvalidArgumentError(None, None, text)
            if start + offset > size:
                text = f"{self.name}: cannot go to byte {start + offset} of {size}"
                raise errors.OutOfRangeError(None, None, text)
            reader.seek(start + offset)

    def tell(self) -> int:
        """Returns the position of the next read; or write, if it is not open for reading."""
        with os_errors(self.name):
            return (self._reading() if self._is_for("r+") else self._writing()).tell()

    def flush(self) -> None:
        """Flushes what was written to the operating system."""
        if self._writer is not None:
            with self._complete():
                self._writer.flush()

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        reader, writer, failure = self._reader, self._writer, self._failure
        self._reader = self._writer = self._failure = None
        if reader is not None:
            reader.close()
        if writer is not None and failure is not None:
            writer.raw.close()  # without what is still in the buffer
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
        """Writes, unless an earlier write has failed: later data would follow a gap."""
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
            self._reader = open(self.name, "rb")  # noqa: SIM115
        return self._reader

    def _writing(self) -> BufferedWriter:
        if self._writer is None:
            if not self._is_for("wa+"):
                self._refuse("writing")
            self._writer = open(self.name, "ab" if "a" in self.mode else "wb")  # noqa: SIM115
        return self._writer

    def _is_for(self, letters: str) -> bool:
        return bool(set(letters) & set(self.mode))

    def _refuse(self, use: str) -> NoReturn:
        text = f"{self.name}: File isn't open for {use}: its mode is {self.mode!r}"
        raise errors.PermissionDeniedError(None, None, text)

    def _as_given(self, data: bytes) -> bytes | str:
        return data if "b" in self.mode else data.decode()


Open = FastGFile = GFile


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """The metadata of a file.

    Attributes:
        length: How many bytes it has.
        mtime_nsec: When it was changed, in nanoseconds since 1970.
        is_directory: Whether it is a directory.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def Stat(filename: _Path) -> FileStatistics:
    """Returns the metadata of a file or directory.

    Raises:
        NotFoundError: If there is none of that name.
    """
    with os_errors(filename):
        found = os.stat(filename)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(filename))


def Exists(filename: _Path) -> bool:
    """Returns whether there is a file or directory of that name."""
    return os.path.exists(filename)


def IsDirectory(dirname: _Path) -> bool:
    """Returns whether there is a directory of that name."""
    return os.path.isdir(dirname)


def Glob(filename: _Path | Sequence[_Path]) -> list[str]:
    """Returns the sorted names that match a pattern; of several patterns, one list after another.

    See `matching_files` for patterns.
    """
    patterns = [filename] if isinstance(filename, (str, bytes, os.PathLike)) else filename
    found = [path for pattern in patterns for path in sorted(matching_paths(os.fspath(pattern)))]
    return [os.fsdecode(path) for path in found]


def ListDirectory(dirname: _Path) -> list[str]:
    """Returns the names in a directory.

    Raises:
        NotFoundError: If there is no such directory.
    """
    if not IsDirectory(dirname):
        text = f"Could not find directory {os.fsdecode(dirname)}"
        raise errors.NotFoundError(None, None, text)
    with os_errors(dirname):
        return sorted(os.fsdecode(name) for name in os.listdir(dirname))


def Walk(top: _Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields a directory and all directories below it, with the names of their entries.

    Args:
        top: Where to start.
        in_order: Whether a directory comes before those in it.

    Yields:
        The directory, the names of the directories in it and those of the files.

    Raises:
        PermissionDeniedError: If a directory may not be listed.
    """

    def fail(error: OSError) -> None:
        # TensorFlow, too, skips what is not a directory, or not any more.
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            with os_errors(error.filename):
                raise error

    yield from os.walk(os.fsdecode(top), topdown=in_order, onerror=fail)


def MakeDirs(dirname: _Path) -> None:
    """Makes a directory and those it is in, unless they are there.

    Raises:
        FailedPreconditionError: If one of them is a file.
        PermissionDeniedError: If it may not be made.
    """
    if os.path.isfile(dirname):
        text = f"{os.fsdecode(dirname)} is not a directory"
        raise errors.FailedPreconditionError(None, None, text)
    with os_errors(dirname):
        os.makedirs(dirname, exist_ok=True)


def MkDir(dirname: _Path) -> None:
    """Makes a directory, unless there is a file or directory of that name.

    Raises:
        NotFoundError: If there is no directory to make it in.
    """
    with os_errors(dirname), suppress(FileExistsError):
        os.mkdir(dirname)


def Remove(filename: _Path) -> None:
    """Removes a file.

    Raises:
        FailedPreconditionError: If it is a directory.
        NotFoundError: If there is no such file.
    """
    with os_errors(filename):
        os.remove(filename)


def DeleteRecursively(dirname: _Path) -> None:
    """Removes a directory and all that is in it.

    Raises:
        NotFoundError: If there is no such directory.
    """
    with os_errors(dirname):
        if os.path.isdir(dirname):
            shutil.rmtree(dirname)
        else:
            os.remove(dirname)


def Rename(oldname: _Path, newname: _Path, overwrite: bool = False) -> None:
    """Gives a file another name.

    Raises:
        AlreadyExistsError: If there is a file of that name, and `overwrite` is false.
        NotFoundError: If there is no such file.
    """
    _check_free(newname, overwrite)
    with os_errors(newname), os_errors(oldname):
        os.replace(oldname, newname)


def Copy(oldpath: _Path, newpath: _Path, overwrite: bool = False) -> None:
    """Copies a file. One that is replaced keeps its mode, and stays as it was if copying fails.

    Raises:
        AlreadyExistsError: If there is a file of the new name, and `overwrite` is false.
        FailedPreconditionError: If one of them is a directory.
        NotFoundError: If there is no such file.
    """
    _check_free(newpath, overwrite)
    with os_errors(oldpath), open(oldpath, "rb") as source, replacing(newpath) as target:
        shutil.copyfileobj(source, target, _CHUNK_BYTES)


def _check_free(path: _Path, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        text = f"{os.fsdecode(path)}: file already exists. Give overwrite=True to replace it."
        raise errors.AlreadyExistsError(None, None, text)


def _read(reader: IO[bytes], n: int) -> bytes:
    """Reads up to `n` bytes, and allocates no memory beyond the end of the file."""
    parts = []
    while n > 0 and (part := reader.read(min(n, _CHUNK_BYTES))):
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def __dir__() -> list[str]:
    return sorted(__all__)
