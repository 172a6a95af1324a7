"""The files that arguments stand for."""

from __future__ import annotations

import os
from collections.abc import Iterator

from headrace import storage
from headrace.pipeline.paths import find_files

__all__ = ["files_of"]


def files_of(command: str, argument: str) -> list[str]:
    """Returns the files that an argument stands for.

    A directory with directories in it, such as an image folder, means all files below it, sorted;
    hidden ones are left out. For everything else see `find_files`.

    Raises:
        NotFoundError: If there are none.
    """
    if not storage.is_remote(argument) and os.path.isdir(argument):
        found = list(_below(argument))
        if found:
            return found
    return [os.fsdecode(path) for path in find_files(command, [argument])]


def _below(directory: str) -> Iterator[str]:
    for path, names, files in os.walk(directory, followlinks=True):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from (os.path.join(path, file) for file in sorted(files) if file[0] != ".")
