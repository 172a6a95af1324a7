"""Files and directories under TensorFlow's names, with TensorFlow's errors.

Source: `tf.gfile` of TensorFlow 1.15.
"""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Final, NoReturn

from headrace import errors
from headrace.memory import check_bytes
from headrace.ops.patterns import matching_paths

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

_ERRORS: Final[dict[int | None, type[errors.OpError]]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.ENOSPC: errors.ResourceExhaustedError,
}
_MODES: Final = ("r", "w", "a", "r+", "w+", "a+")


class GFile:
    """A file, opened when it is first used: for reading, from its beginning, and for writing apart.

    Args:
        name: Its name.
        mode: "r", "w", "a", each with a "+" and a "b" or without. With "b" what is read is bytes,
            without it text in UTF-8. Both can be written. "r+" and "w" begin an empty file when
            something is first written.

    Raises:
        InvalidArgumentError: If there is no such mode.
        PermissionDeniedError: From the methods, if the file is not open for what they do.
    """

    def __init__(self, name: _Path, mode: str = "r") -> None:
        if mode.replace("b", "") not in _MODES:
            text = f"mode is {mode!r}, expected one of {', '.join(_MODES)}, with or without b"
            raise errors.InvalidArgumentError(None, None, text)
        self.name = os.fsdecode(name)
        self.mode = mode
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None

    def size(self) -> int:
        """Returns the size of the file in bytes."""
        with _os_errors(self.name):
            return os.path.getsize(self.name)

    def read(self, n: int = -1) -> Any:
        """Returns the next `n` bytes, or all that are left, as bytes or text.

        Raises:
            ResourceExhaustedError: If memory can never hold as many.
        """
        with _os_errors(self.name):
            reader = self._reading()
            check_bytes(n if n >= 0 else os.fstat(reader.fileno()).st_size, self.name)
            return self._as_given(reader.read(n))

    def readline(self) -> Any:
        """Returns the next line without carriage returns, as bytes or text; empty at the end."""
        with _os_errors(self.name):
            return self._as_given(self._reading().readline().replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """Returns all lines that are left."""
        return list(self)

    def write(self, file_content: bytes | str) -> None:
        """Appends bytes, or text in UTF-8."""
        data = file_content.encode() if isinstance(file_content, str) else file_content
        with _os_errors(self.name):
            self._writing().write(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> None:
        """Moves the next read to a byte.

        Raises:
            InvalidArgumentError: If it is before the beginning.
            OutOfRangeError: If it is past the end.
        """
        with _os_errors(self.name):
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
        """Returns at which byte the next read is; the next write, if it cannot be read."""
        with _os_errors(self.name):
            return (self._reading() if self._is_for("r+") else self._writing()).tell()

    def flush(self) -> None:
        """Hands what was written to the system."""
        if self._writer is not None:
            with _os_errors(self.name):
                self._writer.flush()

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        files = (self._reader, self._writer)
        self._reader = self._writer = None
        with _os_errors(self.name):
            for file in files:
                if file is not None:
                    file.close()

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

    def _reading(self) -> IO[bytes]:
        if self._reader is None:
            if not self._is_for("r+"):
                self._refuse("reading")
            self._reader = open(self.name, "rb")  # noqa: SIM115
        return self._reader

    def _writing(self) -> IO[bytes]:
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
    """What the system says of a file.

    Attributes:
        length: How many bytes it has.
        mtime_nsec: When it was changed, in nanoseconds since 1970.
        is_directory: Whether it is a directory.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def Stat(filename: _Path) -> FileStatistics:
    """Returns what the system says of a file or directory.

    Raises:
        NotFoundError: If there is none of that name.
    """
    with _os_errors(filename):
        found = os.stat(filename)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(filename))


def Exists(filename: _Path) -> bool:
    """Says whether there is a file or directory of that name."""
    return os.path.exists(filename)


def IsDirectory(dirname: _Path) -> bool:
    """Says whether there is a directory of that name."""
    return os.path.isdir(dirname)


def Glob(filename: _Path | Sequence[_Path]) -> list[str]:
    """Returns the names that match a pattern, sorted; of several, those of one after the other.

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
    with _os_errors(dirname):
        return sorted(os.fsdecode(name) for name in os.listdir(dirname))


def Walk(top: _Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields each directory below one, itself included, with the names of what is in it.

    Args:
        top: Where to start.
        in_order: Whether a directory comes before those in it.

    Yields:
        The directory, the names of the directories in it and those of the files.
    """
    yield from os.walk(os.fsdecode(top), topdown=in_order)


def MakeDirs(dirname: _Path) -> None:
    """Makes a directory and those it is in, unless they are there.

    Raises:
        FailedPreconditionError: If one of them is a file.
        PermissionDeniedError: If it may not be made.
    """
    if os.path.isfile(dirname):
        text = f"{os.fsdecode(dirname)} is not a directory"
        raise errors.FailedPreconditionError(None, None, text)
    with _os_errors(dirname):
        os.makedirs(dirname, exist_ok=True)


def MkDir(dirname: _Path) -> None:
    """Makes a directory, unless there is a file or directory of that name.

    Raises:
        NotFoundError: If there is no directory to make it in.
    """
    with _os_errors(dirname), suppress(FileExistsError):
        os.mkdir(dirname)


def Remove(filename: _Path) -> None:
    """Removes a file.

    Raises:
        FailedPreconditionError: If it is a directory.
        NotFoundError: If there is no such file.
    """
    with _os_errors(filename):
        os.remove(filename)


def DeleteRecursively(dirname: _Path) -> None:
    """Removes a directory and all that is in it.

    Raises:
        NotFoundError: If there is no such directory.
    """
    with _os_errors(dirname):
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
    with _os_errors(oldname):
        os.replace(oldname, newname)


def Copy(oldpath: _Path, newpath: _Path, overwrite: bool = False) -> None:
    """Copies a file.

    Raises:
        AlreadyExistsError: If there is a file of the new name, and `overwrite` is false.
        NotFoundError: If there is no such file.
    """
    _check_free(newpath, overwrite)
    with _os_errors(oldpath):
        shutil.copyfile(oldpath, newpath)


def _check_free(path: _Path, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        text = f"{os.fsdecode(path)}: file already exists. Give overwrite=True to replace it."
        raise errors.AlreadyExistsError(None, None, text)


@contextmanager
def _os_errors(path: _Path) -> Iterator[None]:
    """Raises the errors of the system as those of TensorFlow: `PATH; No such file or directory`."""
    try:
        yield
    except OSError as error:
        error_type = _ERRORS.get(error.errno, errors.UnknownError)
        raise error_type(None, None, f"{os.fsdecode(path)}; {error.strerror or error}") from error
