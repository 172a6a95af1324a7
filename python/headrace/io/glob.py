"""File name patterns.

Source: POSIX fnmatch(3) with FNM_PATHNAME, as `tf.gfile.Glob` in TensorFlow 1.15 uses it.
"""

import errno
import os
import re
from collections.abc import Callable
from typing import Final, TypeVar

from headrace.io.os_errors import os_errors
from headrace.io.storage import entries, exists, is_remote, local_path, name_in

__all__ = ["matching_paths"]

_SPECIAL = re.compile(r"[*?\[\\]")
_T = TypeVar("_T")

# The directory does not exist or cannot be read. TensorFlow also ignores this.
_NOTHING_THERE: Final = {
    *(errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG),
    *(errno.EACCES, errno.EPERM),
}


def matching_paths(pattern: str | bytes) -> list[bytes]:
    """Returns all files and directories that match a pattern, in no particular order.

    Args:
        pattern: See `matching_files`. If it has no directory, `.` is searched, and the names start
            with `./`.

    Raises:
        ResourceExhaustedError: If too many files are open to read a directory.
        UnknownError: If a directory exists and may be read, but reading it fails.
    """
    text = os.fsdecode(pattern)
    first = _SPECIAL.search(text)
    if first is None:
        is_there = exists(text) if is_remote(text) else _looked_up(_lstat, text) is not None
        return [os.fsencode(text)] if is_there else []
    directory, slash, _ = text[: first.start()].rpartition("/")
    paths = [directory + slash if slash else "./"]
    for part in text[len(directory + slash) :].split("/"):
        if part:  # Two slashes count as one.
            paths = [path for parent in paths for path in _matching_children(parent, part)]
    return [os.fsencode(path) for path in paths]


def _matching_children(parent: str, pattern: str) -> list[str]:
    matcher = re.compile(_as_regex(pattern), re.DOTALL)
    start = parent if parent.endswith("/") else f"{parent}/"
    if is_remote(parent):
        names = [entry.path.rpartition("/")[2] for entry in entries(parent)]
    else:
        names = _looked_up(_listdir, parent) or []
    return [start + name_in(parent, name) for name in names if matcher.fullmatch(name)]


def _lstat(path: str) -> os.stat_result:
    return os.lstat(local_path(path))


def _listdir(path: str) -> list[str]:
    return os.listdir(local_path(path))


def _looked_up(look: Callable[[str], _T], path: str) -> _T | None:
    """Returns the result of `look` for a path, or None if it does not exist or may not be read."""
    if "\0" in path:
        return None
    with os_errors(path, ". The pattern cannot be matched without reading this path."):
        try:
            return look(path)
        except OSError as error:
            if error.errno not in _NOTHING_THERE:
                raise
            return None


def _as_regex(pattern: str) -> str:
    """Converts a pattern for one part of a path to a regular expression.

    The text between two stars is matched at its first occurrence, without backtracking, so extra
    stars do not make matching slower.
    """
    pieces = [""]  # The text between the stars.
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[" and (end := _end_of_set(pattern, position)) is not None:
            pieces[-1] += _set_as_regex(pattern[position:end])
            position = end + 1
        elif char == "\\" and position < len(pattern):
            pieces[-1] += re.escape(pattern[position])
            position += 1
        else:
            pieces[-1] += re.escape(char)
    first, *inner = pieces
    if not inner:
        return first
    return first + "".join(f"(?>.*?{piece})" for piece in inner[:-1]) + ".*" + inner[-1]


def _end_of_set(pattern: str, start: int) -> int | None:
    """Returns the position of the `]` that ends a set. A leading `]` is a member of the set."""
    position = start + (pattern[start : start + 1] in ("!", "^"))
    position += pattern[position : position + 1] == "]"
    while position < len(pattern) and pattern[position] != "]":
        position += 2 if pattern[position] == "\\" else 1
    return position if position < len(pattern) else None


def _set_as_regex(members: str) -> str:
    is_negated = members[0] in "!^"
    chars = re.findall(r"\\?(.)", members[is_negated:], re.DOTALL)
    parts = []
    position = 0
    while position < len(chars):
        low, high = chars[position], chars[position]
        if position + 2 < len(chars) and chars[position + 1] == "-":
            high = chars[position + 2]
            position += 2
        position += 1
        if low <= high:  # A reversed range has no members.
            parts.append(f"{re.escape(low)}-{re.escape(high)}")
    if not parts:
        return "." if is_negated else r"(?!)"
    return f"[{'^' if is_negated else ''}{''.join(parts)}]"
