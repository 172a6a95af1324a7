"""The files that arguments represent."""

from __future__ import annotations

import os

from headrace.io import storage
from headrace.pipeline.plan.listing import files_below, is_directory
from headrace.pipeline.plan.paths import find_files

__all__ = ["files_of"]


def files_of(command: str, argument: str) -> list[str]:
    """Returns the files that an argument represents.

    A directory with directories in it, such as an image folder, means all files below it, sorted,
    without hidden ones. For everything else see `find_files`.

    Raises:
        NotFoundError: If there are no such files.
        OpError: If a directory cannot be listed.
    """
    if not storage.is_remote(argument) and is_directory(argument):
        found = list(files_below(argument))
        if found:
            return found
    return [os.fsdecode(path) for path in find_files(command, [argument])]
