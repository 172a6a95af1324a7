"""Lists the local files that are in directories or match patterns.

A directory that cannot be listed raises an error. `glob.glob` and `os.walk` would skip it and its
files silently.

Links are followed, and each file is listed once. If several of the listed paths lead to a file, its
own path is preferred to links, and otherwise the first link is used. A link to one of its parent
directories is not followed.
"""

import errno
import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import translate
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Final, TypeAlias

from headrace.io.os_errors import os_errors

__all__ = [
    "INDEX_SUFFIX",
    "files_below",
    "files_in",
    "files_in_partitions",
    "is_directory",
    "is_index",
    "is_left_by_tools",
    "is_partition",
    "is_pattern",
    "matching",
    "regular_files",
]

# The extension of index files. An index file stores the record positions of the file next to it.
INDEX_SUFFIX: Final = ".hrindex"
_REMEDY: Final = ". Its files would be missing from the data. Make the directory readable."
# A directory entry with its path.
_Named: TypeAlias = "tuple[str, os.DirEntry[str]]"
# A device number and an inode number.
_Identity: TypeAlias = "tuple[int, int]"
_WILDCARD: Final = re.compile(r"[*?[]")
_LEFT_BY_TOOLS: Final = re.compile(
    "_(SUCCESS|FAILURE|metadata|common_metadata|temporary|logs|delta_log|spark_metadata"
    "|symlink_format_manifest|(committed|started|distcp)_.*)|.*[.]_COPYING_"
)
# Directories of fewer paths than this are not listed to look up the paths.
_FEW_PATHS: Final = 32
_NOTHING_THERE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


def is_pattern(path: str) -> bool:
    """Returns whether a path is a pattern, assuming that no file has this name."""
    return _WILDCARD.search(path) is not None


def is_left_by_tools(name: str) -> bool:
    """Returns whether a file with this name isn't data, but was written next to the data by a tool.

    Hadoop and Spark write such files, and headrace writes index files.
    """
    if name[:1] != "_" and not name.endswith((INDEX_SUFFIX, "_COPYING_")):
        return False  # Most names end here, which is much faster than the regular expression.
    return is_index(name) or _LEFT_BY_TOOLS.fullmatch(name) is not None


def is_partition(name: str) -> bool:
    """Returns whether a directory with this name is a partition of a table, such as `year=2020`."""
    return "=" in name[1:] and not is_left_by_tools(name) and name[0] != "."


def is_index(name: str) -> bool:
    """Returns whether a file or pattern with this name is an index file."""
    return name.endswith(INDEX_SUFFIX)


def is_directory(path: str) -> bool | None:
    """Returns whether a path is a directory, or None if it does not exist.

    A broken link counts as existing.

    Raises:
        OpError: If the system does not allow access.
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError) as error:
        with os_errors(path):
            if not isinstance(error, OSError) or error.errno not in _NOTHING_THERE:
                raise
            return False if os.path.islink(path) else None


def regular_files(paths: Iterable[str]) -> set[str]:
    """Returns those of many paths that are regular files, and perhaps not all of these.

    Lists directories instead of looking up each path, which takes several times as long. A
    directory with many other files, or one that cannot be listed, is left out.
    """
    names_in: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        start = path.rfind(os.sep) + 1
        names_in[path[:start]].add(path[start:])
    found: set[str] = set()
    for prefix, names in names_in.items():
        if len(names) < _FEW_PATHS:
            continue
        with suppress(OSError, ValueError), os.scandir(prefix or os.curdir) as entries:
            found.update(
                prefix + entry.name
                for entry in islice(entries, 2 * len(names))
                if entry.name in names and entry.is_file(follow_symlinks=False)
            )
    return found


def files_in(directory: str) -> list[str]:
    """Returns the files in a directory, sorted by name.

    Skips hidden files and files that tools write next to data, such as `_SUCCESS`.

    Raises:
        OpError: If the directory cannot be listed.
    """
    files = [
        entry
        for entry in _visible(directory)
        if entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))
    ]
    paths = [_path(directory, entry) for entry in files]
    if not any(entry.is_symlink() for entry in files):
        return paths
    return _once(
        directory, [(path, entry.is_symlink()) for path, entry in zip(paths, files, strict=True)]
    )


def files_in_partitions(directory: str) -> list[str]:
    """Returns the files in a directory, followed by those in partitions such as `year=2020`.

    Skips hidden files and files that tools write next to data.

    Raises:
        OpError: If a directory cannot be listed.
    """
    below = [_path(directory, entry) for entry in _visible(directory) if is_partition(entry.name)]
    inside = (files_in_partitions(path) for path in below if os.path.isdir(path))
    return [*files_in(directory), *(path for of_part in inside for path in of_part)]


def files_below(directory: str) -> list[str]:
    """Returns the sorted files in a directory, followed by the sorted files in its subdirectories.

    Skips hidden files and files that tools write next to data.

    Raises:
        OpError: If a directory cannot be listed.
    """
    files = [
        (path, entry.is_symlink()) for path, entry in _below(directory) if not _leads_down(entry)
    ]
    return _once(directory, files)


def matching(pattern: str) -> list[str]:
    """Returns the files whose paths match a pattern, sorted.

    `*`, `?` and `[…]` match parts of a name, and `**` matches any number of directories. A leading
    dot is matched only by a dot. Files that tools write next to data match only patterns that begin
    with `_`, and index files only patterns that end with `.hrindex`.

    Raises:
        OpError: If a directory cannot be listed.

    Source: Python's `glob.glob` with `recursive`.
    """
    entries = dict(_matching(pattern))
    files = [
        (path, os.path.islink(path) if entry is None else entry.is_symlink())
        for path, entry in sorted(entries.items(), key=itemgetter(0))
        if not (os.path.isdir(path or os.curdir) if entry is None else _leads_down(entry))
    ]
    return _once(_root_of(pattern), files)


def _root_of(pattern: str) -> str:
    """Returns the directory at the start of a pattern."""
    directory = os.path.dirname(pattern)
    while is_pattern(directory):
        directory = os.path.dirname(directory)
    return directory


def _once(root: str, entries: Sequence[tuple[str, bool]]) -> list[str]:
    """Returns the paths, keeping only one path per file.

    Args:
        root: A directory that contains all of them.
        entries: Distinct paths, and whether each is a link.
    """
    # Finding one path per directory first is faster than calling `dirname` for each path.
    one_of_each = {path[: path.rfind(os.sep) + 1]: path for path, _ in entries}
    parents = {os.path.dirname(path) for path in one_of_each.values()}
    reals = {directory: os.path.realpath(directory or os.curdir) for directory in parents}
    if len(set(reals.values())) == len(reals) and not any(is_link for _, is_link in entries):
        return [path for path, _ in entries]
    top = os.path.realpath(root or os.curdir)
    # The path of each directory, without links below the root.
    owns = {
        directory: os.path.normpath(
            os.path.join(top, os.path.relpath(directory or os.curdir, root or os.curdir))
        )
        for directory in parents
    }
    names: dict[str, tuple[bool, int, str]] = {}
    for index, (path, is_link) in enumerate(entries):
        directory, name = os.path.split(path)
        real, own = reals[directory], owns[directory]
        identity = os.path.realpath(path) if is_link else os.path.join(real, name)
        named = (is_link or real != own, index, path)
        names[identity] = min(names.get(identity, named), named)
    chosen = sorted((index, path) for _, index, path in names.values())
    return [path for _, path in chosen]


def _matching(pattern: str) -> "Iterator[tuple[str, os.DirEntry[str] | None]]":
    """Yields matching paths, with their entry if their directory was listed."""
    directory, part = os.path.split(pattern)
    parents = _matching(directory) if is_pattern(directory) else [(directory, None)]
    for parent, parent_entry in parents:
        if part == "**":
            yield parent, parent_entry
            yield from _below(parent)
        elif is_pattern(part):
            has_index = is_index(part)
            is_named = part.startswith((".", "_")) or has_index
            entries = _entries(parent) if is_named else _visible(parent)
            matches = re.compile(translate(part)).match
            yield from (
                (_path(parent, entry), entry)
                for entry in entries
                if matches(entry.name) and (has_index or not is_index(entry.name))
            )
        elif os.path.lexists(path := os.path.join(parent, part)):
            yield path, None


class _Directories:
    """Tracks the directories that have been listed, so that each is listed only once."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: set[_Identity] = set()
        self._real: set[_Identity] | None = None

    def is_new(self, path: str, is_through_link: bool) -> bool:
        """Returns whether a directory is listed for the first time, and records it."""
        identity = _identity(path)
        if is_through_link and (identity in self._without_links() or _leads_up(path)):
            return False
        if identity in self._seen:
            return False
        self._seen.add(identity)
        return True

    def _without_links(self) -> set[_Identity]:
        """Returns the directories that can be reached without following links."""
        if self._real is None:
            self._real = set()
            waiting = [self._root]
            while waiting:
                directory = waiting.pop()
                self._real.add(_identity(directory))
                waiting += [
                    _path(directory, entry)
                    for entry in _visible(directory)
                    if not entry.is_symlink() and _leads_down(entry)
                ]
        return self._real


def _identity(directory: str) -> _Identity:
    with os_errors(directory, _REMEDY):
        status = os.stat(directory or os.curdir)
    return status.st_dev, status.st_ino


def _leads_up(path: str) -> bool:
    """Returns whether a link leads to one of its parent directories."""
    target, directory = os.path.realpath(path), os.path.realpath(os.path.dirname(path) or os.curdir)
    return os.path.commonpath([target, directory]) == target


def _below(directory: str) -> Iterator[_Named]:
    """Yields the entries of a directory, followed by its subdirectories' entries."""
    if _visible(directory):
        directories = _Directories(directory)
        directories.is_new(directory, is_through_link=False)
        yield from _listed(directory, directories, is_through_link=False)


def _listed(directory: str, directories: _Directories, is_through_link: bool) -> Iterator[_Named]:
    here = [(_path(directory, entry), entry) for entry in _visible(directory)]
    yield from here
    for path, entry in here:
        if _leads_down(entry):
            is_link = is_through_link or entry.is_symlink()
            if directories.is_new(path, is_link):
                yield from _listed(path, directories, is_link)


def _leads_down(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return False
        with os_errors(entry.path, _REMEDY):
            raise


def _path(directory: str, entry: "os.DirEntry[str]") -> str:
    """Returns the path of an entry of a directory, which is "" for the current one."""
    return entry.path if directory else entry.name


def _visible(directory: str) -> "list[os.DirEntry[str]]":
    return [
        entry
        for entry in _entries(directory)
        if entry.name[0] != "." and not is_left_by_tools(entry.name)
    ]


def _entries(directory: str) -> "list[os.DirEntry[str]]":
    """Returns the sorted entries of a directory, or nothing if it does not exist."""
    with os_errors(directory or os.curdir, _REMEDY):
        try:
            with os.scandir(directory or os.curdir) as entries:
                return sorted(entries, key=attrgetter("name"))
        except OSError as error:
            if error.errno not in _NOTHING_THERE:
                raise
            return []
