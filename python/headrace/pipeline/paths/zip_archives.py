"""Files in zip archives, which are read in place."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from headrace.core import engine
from headrace.core.errors import NotFoundError
from headrace.core.repr_prefix import printable
from headrace.io import storage
from headrace.io.braces import expanded
from headrace.pipeline.paths.listing import is_left_by_tools, is_pattern
from headrace.pipeline.paths.paths import find_files

__all__ = ["Archived", "FoundFiles", "find_files_and_members", "members_below", "split_archive"]

_ARCHIVE: Final = re.compile(r"(?i)\.zip(?=/|$)")
# The directory in which macOS stores metadata of the other files.
_MACOS: Final = "__MACOSX/"


class Archived(NamedTuple):
    """A path in an archive.

    Attributes:
        archive: The path of the archive.
        inside: The path in the archive, or empty for the whole archive.
    """

    archive: str
    inside: str


class FoundFiles(NamedTuple):
    """Files, some of which may be in archives.

    Attributes:
        paths: The path of each file. For a file in an archive, it starts with the archive's path.
        archives: The open archives.
        on_storage: The files that are read: the archives, and the files outside of archives.
    """

    paths: list[bytes]
    archives: list[engine.ZipArchive]
    on_storage: list[bytes]


def split_archive(path: str) -> Archived | None:
    """Splits a path after the name of a zip archive, or returns None if it contains no archive.

    The archive may be a pattern. A directory whose name ends with `.zip` is not an archive.
    """
    for match in _ARCHIVE.finditer(path):
        archive = path[: match.end()]
        if _is_archive(archive):
            return Archived(archive, path[match.end() :].strip("/"))
    return None


def _is_archive(path: str) -> bool:
    if storage.is_remote(path):
        return storage.has_pattern(path) or storage.statuses([path]) != [None]
    path = storage.local_path(path)
    return os.path.isfile(path) or (is_pattern(path) and not os.path.lexists(path))


def find_files_and_members(where: str, paths: Sequence[str]) -> FoundFiles:
    """Returns the files that match the user's paths, like `find_files`.

    A path such as `a.zip/**/*.jpg` matches files in an archive. A path that ends with the name of
    an archive matches the archive itself.

    Raises:
        NotFoundError: If a path does not exist, or no file matches a pattern.
        OpError: If a directory or an archive cannot be read.
    """
    found = FoundFiles([], [], [])
    for path in paths:
        for one in expanded(path) if _ARCHIVE.search(path) and "{" in path else [path]:
            archived = split_archive(one)
            if archived is None or not archived.inside:
                files = find_files(where, [one])
                found.paths.extend(files)
                found.on_storage.extend(files)
                continue
            members = list(_find_members(where, archived, found))
            if not members:
                raise NotFoundError(
                    None,
                    None,
                    f"{where}: {printable(one)}: no file in the archive matches. Check the name, "
                    "or list the files with `unzip -l`.",
                )
            found.paths.extend(members)
    return found


def _find_members(where: str, archived: Archived, found: FoundFiles) -> Iterator[bytes]:
    """Yields the members that match a path, and adds their archives."""
    for archive in find_files(where, [archived.archive]):
        opened = open_archive(archive)
        found.archives.append(opened)
        found.on_storage.append(archive)
        names = [os.fsdecode(name) for name in opened.names]
        yield from (
            archive + b"/" + os.fsencode(name) for name in _matching(names, archived.inside)
        )


def _matching(names: Sequence[str], pattern: str) -> list[str]:
    """Returns the members that match a pattern, a name or a directory, sorted."""
    if pattern in names:
        return [pattern]
    visible = [name for name in names if not name.startswith(_MACOS) and _is_data(name)]
    if is_pattern(pattern):
        return sorted(name for name in visible if storage.is_match(name, pattern))
    return sorted(name for name in visible if name.rpartition("/")[0] == pattern)


def _is_data(name: str) -> bool:
    return not is_left_by_tools(name.rpartition("/")[2])


def open_archive(path: bytes) -> engine.ZipArchive:
    """Opens an archive, and reads the list of its members.

    Raises:
        OpError: If the archive cannot be read.
    """
    with engine.op_errors():
        return engine.ZipArchive(path)


def members_below(archived: Archived) -> tuple[engine.ZipArchive, list[str]]:
    """Returns an open archive and the files below one of its directories, as relative paths.

    The order is the same as in an unpacked directory: files come before directories, and both are
    sorted by name. Hidden files and directories are skipped.

    Raises:
        OpError: If the archive cannot be read.
    """
    archive = open_archive(os.fsencode(storage.local_path(archived.archive)))
    start = f"{archived.inside}/" if archived.inside else ""
    names = (os.fsdecode(name) for name in archive.names)
    below = [
        name[len(start) :]
        for name in names
        if name.startswith(start) and not name.startswith(_MACOS) and _is_data(name)
    ]
    visible = [name for name in below if not any(p.startswith(".") for p in name.split("/"))]
    return archive, sorted(visible, key=_order)


def _order(name: str) -> list[tuple[bool, str]]:
    *directories, last = name.split("/")
    return [*((True, part) for part in directories), (False, last)]
