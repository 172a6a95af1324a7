"""The files that a source reads."""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from headrace.core.errors import NotFoundError
from headrace.core.repr_prefix import printable
from headrace.io import storage
from headrace.io.braces import expanded
from headrace.pipeline.paths.listing import (
    files_in,
    files_in_partitions,
    is_directory,
    is_index,
    is_left_by_tools,
    is_partition,
    is_pattern,
    matching,
    regular_files,
)

__all__ = ["Paths", "as_paths", "check_compression", "find_files", "find_partitioned"]

# A path, a pattern, a directory, or a list of these.
Paths: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"


_COMPRESSIONS: Final = (None, "auto", "gzip", "zlib", "zstd", "bzip2", "xz", "lz4")


def check_compression(where: str, compression: object) -> None:
    """Raises ValueError if the compression is unknown."""
    if compression not in _COMPRESSIONS:
        raise ValueError(
            f"{where}: compression is {compression!r}, expected None, 'auto', 'gzip', 'zlib', "
            "'zstd', 'bzip2', 'xz' or 'lz4'."
        )


def as_paths(where: str, paths: Paths) -> tuple[str, ...]:
    """Returns the user's paths as a tuple of strings.

    Raises:
        TypeError: If an item is not a path.
        ValueError: If no paths are given.
    """
    items: list[Any]
    if isinstance(paths, (str, bytes, os.PathLike)) or not isinstance(paths, Iterable):
        items = [paths]
    else:
        items = list(paths)
    for path in items:
        if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
            raise TypeError(f"{where}: {path!r} is not a path, expected a str or a pathlib.Path.")
    texts = tuple(os.fspath(path) for path in items)
    if not texts:
        raise ValueError(f"{where}: there are no paths, expected at least one path or pattern.")
    return texts


def find_files(where: str, paths: Iterable[str]) -> list[bytes]:
    """Returns the files that match the user's paths.

    If a path exists, it is never treated as a pattern. A directory matches its files, except for
    hidden files and files that tools write next to data, such as `_SUCCESS` and index files.
    Anything else is a pattern: `{a,b}` and `{000..010}` expand to several paths, `*`, `?` and `[…]`
    match parts of a name, and `**` matches directories. The files of a directory or pattern are
    sorted. Each file is listed only once, and its own path is preferred to links.

    The same applies to storage URLs. If a file and a directory have the same name, the URL matches
    the file. In HTTP URLs, only braces are expanded.

    Raises:
        NotFoundError: If a path does not exist, or no file matches a pattern.
        OpError: If a directory that may contain some of the files cannot be listed.
        ValueError: If braces expand to more than a million paths.
    """
    return [os.fsencode(path) for _, path in _find(where, paths, has_partitions=False)]


def find_partitioned(where: str, paths: Iterable[str]) -> list[tuple[bytes, str]]:
    """Returns the files that match the user's paths, with their relative paths.

    It works like `find_files`, but also finds files in subdirectories with a `=` in their name, at
    any depth. For a pattern, the relative path starts at the first directory that contains a
    wildcard.
    """
    files = list(_find(where, paths, has_partitions=True))
    bases = {origin: _base(origin) for origin in {origin for origin, _ in files}}
    return [(os.fsencode(path), _below(bases[origin], path)) for origin, path in files]


def _find(where: str, paths: Iterable[str], *, has_partitions: bool) -> Iterator[tuple[str, str]]:
    """Yields the files, each with the path or pattern that its relative path starts from."""
    local_paths = _without_braces(where, list(map(storage.local_path, paths)))
    remote = [path for _, path in local_paths if storage.is_remote(path)]
    remote_files = dict(_remote_files(where, remote, has_partitions)) if remote else {}
    known = regular_files(path for _, path in local_paths if path not in remote_files)
    for origin, path in local_paths:
        if path in known:
            yield origin, path
        else:
            for file in remote_files.get(path) or _files_of(where, path, has_partitions):
                yield origin, file


def _base(path: str) -> str:
    """Returns the directory before the first wildcard of a path, or the path if it has none."""
    if storage.is_remote(path):
        is_open = storage.has_pattern(path)
    else:
        is_open = is_pattern(path) and not os.path.lexists(path)
    first = re.search(r"[*?[]", path) if is_open else None
    return path[: first.start()].rpartition("/")[0] if first else path


def _below(base: str, path: str) -> str:
    if storage.is_remote(path) and not storage.can_be_listed(path):
        path = re.split("[?#]", path, maxsplit=1)[0]
    num_above = len(base.rstrip("/").split("/")) if base else 0
    return "/".join(path.split("/")[num_above:])


def _without_braces(where: str, paths: list[str]) -> list[tuple[str, str]]:
    """Expands the braces in paths. Returns each path with the path that its base is taken from.

    If a path exists, its braces are not expanded.
    """
    braced = [path for path in paths if "{" in path]
    # Don't ask HTTP servers whether the path exists, because URLs contain no braces.
    remote = [path for path in braced if storage.is_remote(path) and storage.can_be_listed(path)]
    statuses = zip(remote, storage.statuses(remote), strict=True) if remote else ()
    there = {path for path, status in statuses if status is not None}
    there |= {path for path in braced if not storage.is_remote(path) and os.path.lexists(path)}
    try:
        each = [expanded(path) if "{" in path and path not in there else [path] for path in paths]
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return [
        (one if of_path == [path] else path[: path.index("{")] + "*", one)
        for path, of_path in zip(paths, each, strict=True)
        for one in of_path
    ]


def _remote_files(
    where: str, urls: list[str], has_partitions: bool
) -> Iterator[tuple[str, list[str]]]:
    # Looks up all file names in one go. This includes HTTP URLs that look like patterns, to explain
    # why they are not files.
    named = [
        url
        for url in urls
        if (is_pattern(url.partition("?")[0]) and not storage.can_be_listed(url))
        or (storage.can_be_listed(url) and not storage.has_pattern(url))
    ]
    statuses = dict(zip(named, storage.statuses(named), strict=True))
    for url in urls:
        remedy = "Check the bucket and the name."
        if storage.has_pattern(url):
            files = _remote_matching(url) or _remote_files_in(url, has_partitions)
            what = "no file matches this pattern"
        elif statuses.get(url, True) is not None:
            files, what = [url], ""
        elif storage.can_be_listed(url):
            files = _remote_files_in(url, has_partitions)
            what = "no such file or directory"
        else:
            files, what = [], "the server answered 404 Not Found"
            remedy = (
                "Patterns don't work over HTTP, because servers cannot list files. Name each file."
            )
        if not files:
            raise NotFoundError(None, None, f"{where}: {printable(url)}: {what}. {remedy}")
        yield url, files


def _remote_files_in(url: str, has_partitions: bool) -> list[str]:
    inside = storage.entries(url)
    files = [
        entry.path for entry in inside if not entry.is_directory and _is_data(_name(entry.path))
    ]
    for entry in inside if has_partitions else ():
        if entry.is_directory and is_partition(_name(entry.path.removesuffix("/"))):
            files += _remote_files_in(entry.path, has_partitions)
    return files


def _remote_matching(url: str) -> list[str]:
    last = _name(url)
    files = storage.matching(url)
    if is_index(last):
        return files
    is_named = last.startswith("_")
    return [
        path
        for path in files
        if not is_index(_name(path)) and (is_named or not is_left_by_tools(_name(path)))
    ]


def _is_data(name: str) -> bool:
    return not name.startswith(".") and not is_left_by_tools(name)


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _files_of(where: str, path: str, has_partitions: bool) -> list[str]:
    match is_directory(path):
        case True:
            files = files_in_partitions(path) if has_partitions else files_in(path)
            what = "there are no files in this directory"
            if not files and any(map(os.path.isdir, glob.iglob(f"{glob.escape(path)}/*"))):
                what += ", only subdirectories. To read the files in those, add '/**' to the path"
        case False:
            return [path]
        case None if is_pattern(path):
            files, what = matching(path), "no file matches this pattern"
        case None:
            files, what = [], "no such file"
            if "{" in path:
                what += ", and the braces are not a valid pattern, such as {a,b} or {000..010}"
    if not files:
        raise NotFoundError(
            None,
            None,
            f"{where}: {printable(path)}: {what}. Check the name. Relative paths start at "
            f"{printable(os.getcwd())}.",
        )
    return files
