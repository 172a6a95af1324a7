"""Local and remote files and directories.

The engine reads `s3://`, `gs://`, `az://`, `hf://`, `http://` and `https://` URLs. A `file://` URL
is a local path. Remote storage has no real directories. File names contain slashes, and the part
before a slash is treated as a directory. Plain HTTP cannot list files.
"""

import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import IO, TYPE_CHECKING, Final, cast
from urllib.parse import quote, unquote

from headrace.core import engine
from headrace.core.errors import FailedPreconditionError, NotFoundError
from headrace.io.atomic_file import replacing
from headrace.io.os_errors import os_errors

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "Entry",
    "all_statuses",
    "can_be_listed",
    "copy",
    "entries",
    "exists",
    "files_below",
    "has_pattern",
    "is_directory",
    "is_remote",
    "known_size_of",
    "link",
    "local_path",
    "matching",
    "name_in",
    "open_file",
    "remove",
    "revision",
    "size_of",
    "sizes",
    "status",
    "statuses",
    "unknown_size",
]

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_WITHOUT_LISTS: Final = ("http", "https")
_CHUNK_BYTES: Final = 1 << 20
# How many letters of a name its temporary name keeps, because names have at most 255 bytes.
_TEMPORARY_LETTERS: Final = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory.

    Attributes:
        path: The path or URL.
        length: The size in bytes. 0 for a remote directory, and -1 if the server does not report
            it.
        modified_ns: The time of the last change, in nanoseconds since 1970. 0 if it is unknown.
        is_directory: Whether the entry is a directory.
    """

    path: str
    length: int
    modified_ns: int
    is_directory: bool


def is_remote(path: str) -> bool:
    """Returns whether a path is a URL of a remote file."""
    match = _URL.match(path) if "://" in path else None
    return match is not None and match[1].lower() != "file"


def local_path(path: str) -> str:
    """Returns the path in a `file://` URL. Other paths are returned unchanged."""
    if path[:7].lower() != "file://":
        return path
    rest = path[7:].removeprefix("localhost") if path[7:].startswith("localhost/") else path[7:]
    return unquote(rest, errors="surrogateescape")


def name_in(directory: str, name: str) -> str:
    """Returns a file name as it appears in paths. In a `file://` URL, it is percent-encoded."""
    return quote(os.fsencode(name)) if directory[:7].lower() == "file://" else name


def can_be_listed(path: str) -> bool:
    """Returns whether directories can be listed. Plain HTTP does not support this."""
    match = _URL.match(path)
    return match is None or match[1].lower() not in _WITHOUT_LISTS


def open_file(path: str) -> IO[bytes]:
    """Opens a file for reading.

    Raises:
        OpError: If the file cannot be opened.
    """
    if is_remote(path):
        return cast(IO[bytes], io.BufferedReader(_RemoteReader(path), _CHUNK_BYTES))
    with os_errors(path):
        return open(local_path(path), "rb")


def size_of(file: IO[bytes]) -> int:
    """Returns the size in bytes of a file opened by `open_file`.

    Raises:
        FailedPreconditionError: If the server does not report the size.
    """
    size = known_size_of(file)
    if size is None:
        raise unknown_size(file.name)
    return size


def known_size_of(file: IO[bytes]) -> int | None:
    """Returns the size of an open file in bytes, or None if the server does not report it."""
    raw = getattr(file, "raw", None)
    return raw.size if isinstance(raw, _RemoteReader) else os.fstat(file.fileno()).st_size


def unknown_size(url: str) -> FailedPreconditionError:
    """Returns the error for a file whose size is needed but not reported by the server."""
    text = (
        f"{url}: the server does not report the length of the file (no Content-Length "
        "header). Copy the file to this machine."
    )
    return FailedPreconditionError(None, None, text)


def status(path: str) -> Entry:
    """Returns the size, modification time and kind of a file or directory.

    Raises: NotFoundError: If the file or directory does not exist.
    """
    if not is_remote(path):
        with os_errors(path):
            status_here = os.stat(local_path(path))
        is_there = os.path.isdir(local_path(path))
        return Entry(path, status_here.st_size, status_here.st_mtime_ns, is_there)
    (entry,) = statuses([path])
    if entry is not None:
        return entry
    if _is_remote_directory(path):
        return Entry(path, 0, 0, is_directory=True)
    raise NotFoundError(None, None, f"{path}; No such file or directory")


def statuses(urls: Iterable[str]) -> list[Entry | None]:
    """Returns the metadata of remote files (None for missing files), using concurrent requests."""
    with _op_errors():
        entries = engine.remote_statuses(list(urls))
    return [None if entry is None else _entry(entry) for entry in entries]


def all_statuses(paths: Iterable[str]) -> list[Entry]:
    """Returns the metadata of local and remote files.

    Raises:
        NotFoundError: If a file does not exist.
    """
    paths = list(paths)
    remote = [path for path in paths if is_remote(path)]
    remote_entries = dict(zip(remote, statuses(remote), strict=True)) if remote else {}
    return [remote_entries.get(path) or status(path) for path in paths]


def sizes(paths: Iterable[str]) -> list[int]:
    """Returns the size of each file in bytes.

    Raises:
        NotFoundError: If a file does not exist.
    """
    return [entry.length for entry in all_statuses(paths)]


def exists(path: str) -> bool:
    """Returns whether a file or directory exists."""
    if not is_remote(path):
        return os.path.exists(local_path(path))
    return statuses([path]) != [None] or _is_remote_directory(path)


def is_directory(path: str) -> bool:
    """Returns whether a directory exists."""
    if not is_remote(path):
        return os.path.isdir(local_path(path))
    return _is_remote_directory(path)


def _is_remote_directory(url: str) -> bool:
    with _op_errors():
        return engine.remote_is_directory(url)


def entries(directory: str) -> list[Entry]:
    """Returns the entries of a directory, sorted by name. A missing remote directory has none.

    Raises:
        OpError: If the directory cannot be listed.
    """
    if is_remote(directory):
        return _listed(directory, is_deep=False)
    with os_errors(directory):
        names = sorted(os.listdir(local_path(directory)))
    return [status(os.path.join(directory, name_in(directory, name))) for name in names]


def files_below(directory: str) -> list[Entry]:
    """Returns all files in and below a remote directory, sorted by name.

    Raises:
        OpError: If the directory cannot be listed.
    """
    return _listed(directory, is_deep=True)


def _listed(url: str, is_deep: bool) -> list[Entry]:
    with _op_errors():
        return list(map(_entry, engine.remote_list(url, is_deep)))


def _entry(entry: engine.RemoteEntry) -> Entry:
    return Entry(entry.url, entry.num_bytes, entry.modified_ns, entry.is_directory)


def revision(url: str) -> str | None:
    """Returns the commit that a hub URL's revision currently points to, or None for a bucket.

    Raises:
        OpError: If the revision does not exist, or the hub cannot be reached.
    """
    with _op_errors():
        return engine.remote_revision(url)


def remove(path: str) -> None:
    """Removes a file.

    Raises:
        NotFoundError: If the file does not exist.
    """
    if is_remote(path):
        with _op_errors():
            engine.remote_remove(path)
        return
    with os_errors(path):
        os.remove(local_path(path))


def copy(source: str, target: str) -> None:
    """Copies a file. If this fails, an existing target is unchanged.

    Raises:
        FailedPreconditionError: If one of the paths is a directory.
        NotFoundError: If the source does not exist.
    """
    if is_remote(source) and _storage(source) == _storage(target):
        with _op_errors():
            engine.remote_copy(source, target)
        return
    with os_errors(source), open_file(source) as reader, replacing(target) as writer:
        while chunk := reader.read(_CHUNK_BYTES):
            writer.write(chunk)


def link(source: str, path: str) -> None:
    """Gives a file a second name, atomically. An existing file with that name is replaced.

    If the storage has no hard links, the second file is a copy.

    Raises:
        OpError: If this is not possible.
    """
    if is_remote(path):
        copy(source, path)
        return
    # If the name is a link, its target is replaced, and the link is kept.
    source, target = local_path(source), os.path.realpath(local_path(path))
    directory, name = os.path.split(target)
    temporary = os.path.join(directory, f".{name[:_TEMPORARY_LETTERS]}.tmp{os.urandom(8).hex()}")
    try:
        os.link(source, temporary)
    except OSError:
        # Not every file system supports hard links.
        copy(source, target)
        return
    with os_errors(path):
        try:
            os.replace(temporary, target)
        except OSError:
            os.unlink(temporary)
            raise


def _storage(path: str) -> str:
    """Returns the prefix shared by all URLs of a bucket."""
    return "/".join(path.split("/", 3)[:3])


def has_pattern(path: str) -> bool:
    """Returns whether a URL is a pattern. In HTTP URLs, `?` starts the query."""
    return can_be_listed(path) and re.search(r"[*?[]", path) is not None


def matching(pattern: str) -> list[str]:
    """Returns the remote files that match a pattern, sorted.

    `*`, `?` and `[…]` match parts of a name, and `**` matches any number of directories. A leading
    dot is matched only by a dot. If a file's name is the pattern itself, only that file is
    returned.
    """
    first = re.search(r"[*?[]", pattern)
    directory = pattern[: first.start()].rpartition("/")[0] if first else pattern
    parts = pattern[len(directory) + 1 :].split("/")
    entries_below = (
        files_below(directory) if len(parts) > 1 or parts == ["**"] else entries(directory)
    )
    if any(entry.path == pattern and not entry.is_directory for entry in entries_below):
        return [pattern]
    return [
        entry.path
        for entry in entries_below
        if not entry.is_directory and _matches(entry.path[len(directory) + 1 :].split("/"), parts)
    ]


def is_match(path: str, pattern: str) -> bool:
    """Returns whether a relative path matches a pattern; see `matching`."""
    return _matches(path.split("/"), pattern.split("/"))


def _matches(names: list[str], patterns: list[str]) -> bool:
    if not patterns:
        return not names
    first, *rest = patterns
    if first == "**":
        visible = next((i for i, name in enumerate(names) if name.startswith(".")), len(names))
        if not rest:
            return visible == len(names)
        return any(_matches(names[start:], rest) for start in range(visible + 1))
    if not names or (names[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatchcase(names[0], first) and _matches(names[1:], rest)


class _RemoteReader(io.RawIOBase):
    """A remote file opened for reading."""

    def __init__(self, url: str) -> None:
        with _op_errors():
            self._file = engine.RemoteFile(os.fsencode(url))
        is_known = self._file.seekable or self._file.size > 0
        self.size: int | None = self._file.size if is_known else None
        self.name = url
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        with _op_errors():
            data = self._file.read(len(view))
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if not self.seekable():
            raise io.UnsupportedOperation(
                f"{self.name}: the server cannot send a part of a file, so only the beginning "
                "can be read. Copy the file to this machine."
            )
        size = self.size or 0
        position = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: size}[whence] + offset
        if position < 0:
            raise ValueError(f"{self.name}: cannot seek to byte {position}. The first byte is 0.")
        with _op_errors():
            self._file.seek(position)
        self._position = position
        return position

    def tell(self) -> int:
        return self._position


@contextmanager
def _op_errors() -> Iterator[None]:
    try:
        yield
    except engine.EngineError as error:
        engine.raise_op_error(error)
