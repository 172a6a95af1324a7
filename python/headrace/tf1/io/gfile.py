"""`tf.io.gfile`: files and directories under their newer names, with their newer arguments.

Source: `tf.io.gfile` in TensorFlow 1.15.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from headrace.core.errors import NotFoundError
from headrace.tf1 import gfile
from headrace.tf1.gfile import FileStatistics, GFile
from headrace.tf1.namespace import namespace

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]

_Path = str | bytes | os.PathLike[str]


def copy(src: _Path, dst: _Path, overwrite: bool = False) -> None:
    """Copies a file; see `tf.gfile.Copy`."""
    gfile.Copy(src, dst, overwrite)


def exists(path: _Path) -> bool:
    """Returns whether a file or directory exists."""
    return gfile.Exists(path)


def glob(pattern: _Path | Sequence[_Path]) -> list[str]:
    """Returns the names that match a pattern, or several patterns; see `tf.gfile.Glob`."""
    return gfile.Glob(pattern)


def isdir(path: _Path) -> bool:
    """Returns whether a path is an existing directory."""
    return gfile.IsDirectory(path)


def listdir(path: _Path) -> list[str]:
    """Returns the names in a directory; see `tf.gfile.ListDirectory`."""
    return gfile.ListDirectory(path)


def makedirs(path: _Path) -> None:
    """Creates a directory and its parents if they do not exist; see `tf.gfile.MakeDirs`."""
    gfile.MakeDirs(path)


def mkdir(path: _Path) -> None:
    """Creates a directory; see `tf.gfile.MkDir`."""
    gfile.MkDir(path)


def remove(path: _Path) -> None:
    """Removes a file; see `tf.gfile.Remove`."""
    gfile.Remove(path)


def rename(src: _Path, dst: _Path, overwrite: bool = False) -> None:
    """Renames a file; see `tf.gfile.Rename`."""
    gfile.Rename(src, dst, overwrite)


def rmtree(path: _Path) -> None:
    """Removes a directory and everything in it; see `tf.gfile.DeleteRecursively`."""
    gfile.DeleteRecursively(path)


def stat(path: _Path) -> FileStatistics:
    """Returns the metadata of a file or directory; see `tf.gfile.Stat`."""
    return gfile.Stat(path)


def walk(
    top: _Path, topdown: bool = True, onerror: Callable[[NotFoundError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields a directory and all directories below it, with the names of their entries.

    Args:
        top: The directory to start at.
        topdown: If True, a directory comes before its subdirectories.
        onerror: Called with the error if `top` does not exist. By default, the error is ignored.

    Yields:
        The directory, the names of its subdirectories, and the names of its files.
    """
    if onerror is not None and not gfile.IsDirectory(top):
        onerror(NotFoundError(None, None, f"Could not find directory {os.fsdecode(top)}"))
    yield from gfile.Walk(top, topdown)


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
