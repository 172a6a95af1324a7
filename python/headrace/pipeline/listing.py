"""Local files that directories and patterns stand for.

A directory that cannot be listed is an error: `glob.glob` and `os.walk` leave it out, and its files
would be missing in silence.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator, Set
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from headrace.os_errors import os_errors

__all__ = ["files_below", "files_in", "is_directory", "is_pattern", "matching"]

_REMEDY: Final = ". Its files would be missing without it; see that it can be read."
# The path of an entry of a directory, and the entry.
_Named: TypeAlias = "tuple[str, os.DirEntry[str]]"
_NOTHING_THERE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


def is_pattern(path: str) -> bool:
    """Returns whether a path stands for those that match it, if none is named so."""
    return re.search(r"[*?[]", path) is not None


def is_directory(path: str) -> bool | None:
    """Returns whether a path leads to a directory; None if there is nothing of that name.

    A link that leads nowhere is something.

    Raises:
        OpError: If that cannot be told.
    """
    with os_errors(path):
        try:
            return stat.S_ISDIR(os.stat(path).st_mode)
        except OSError as error:
            if error.errno not in _NOTHING_THERE:
                raise
            return False if os.path.islink(path) else None


def files_in(directory: str) -> list[str]:
    """Returns the files of a directory, sorted; hidden ones are left out.

    Raises:
        OpError: If it cannot be listed.
    """
    return [
        path
        for path, entry in _visible(directory)
        if entry.is_file() or (entry.is_symlink() and not os.path.exists(path))
    ]


def files_below(directory: str) -> Iterator[str]:
    """Yields the files of a directory, then those of the directories in it; each time sorted.

    Hidden ones are left out. Links are followed, but for those to a directory that they are in.

    Raises:
        OpError: If a directory cannot be listed.
    """
    return (path for path, entry in _below(directory) if not _leads_down(entry))


def matching(pattern: str) -> list[str]:
    """Returns the files whose paths match a pattern, sorted.

    `*`, `?` and `[…]` stand for parts of a name, `**` for any number of directories. What begins
    with a dot is only matched by a dot.

    Raises:
        OpError: If a directory cannot be listed.

    Source: `glob.glob` of Python with `recursive`.
    """
    return sorted({path for path in _matching(pattern) if not os.path.isdir(path)})


def _matching(pattern: str) -> Iterator[str]:
    directory, part = os.path.split(pattern)
    for parent in _matching(directory) if is_pattern(directory) else [directory]:
        if part == "**":
            yield parent
            yield from (path for path, _ in _below(parent))
        elif is_pattern(part):
            found = _entries(parent) if part.startswith(".") else _visible(parent)
            yield from (path for path, entry in found if fnmatchcase(entry.name, part))
        elif os.path.lexists(path := os.path.join(parent, part)):
            yield path


def _below(directory: str, above: Set[tuple[int, int]] = frozenset()) -> Iterator[_Named]:
    """Yields what is in a directory, and then what is in the directories in it."""
    here = _visible(directory)
    if not here:
        return
    with os_errors(directory, _REMEDY):
        status = os.stat(directory or os.curdir)
    identity = status.st_dev, status.st_ino
    if identity in above:
        return
    yield from here
    for path, entry in here:
        if _leads_down(entry):
            yield from _below(path, above | {identity})


def _leads_down(entry: "os.DirEntry[str]") -> bool:
    with os_errors(entry.path, _REMEDY):
        try:
            return entry.is_dir()
        except OSError as error:
            if error.errno not in _NOTHING_THERE:
                raise
            return False


def _visible(directory: str) -> list[_Named]:
    return [(path, entry) for path, entry in _entries(directory) if entry.name[0] != "."]


def _entries(directory: str) -> list[_Named]:
    """Returns what is in a directory, sorted; of one that is not there, nothing."""
    with os_errors(directory or os.curdir, _REMEDY):
        try:
            with os.scandir(directory or os.curdir) as entries:
                names = sorted((entry.name, entry) for entry in entries)
        except OSError as error:
            if error.errno not in _NOTHING_THERE:
                raise
            return []
    return [(os.path.join(directory, name), entry) for name, entry in names]
