"""Verification of all files given to ``headrace verify``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from headrace.cli.content.files import files_of
from headrace.cli.content.kind import Content, Kind, content_of
from headrace.cli.failures import Failure
from headrace.cli.inspect.images import DECODED
from headrace.cli.verify.combined_files import TOGETHER, verified_together
from headrace.cli.verify.result import Result
from headrace.cli.verify.single_files import verified_alone
from headrace.core.errors import OpError

__all__ = ["Verified", "verified"]


class Verified(NamedTuple):
    """The result for all files.

    Attributes:
        results: The result of each file, in the order of the arguments.
        unreadable: The reasons why some could not be opened.
    """

    results: list[Result]
    unreadable: list[str]

    @property
    def is_whole(self) -> bool:
        """True if all files were read, and none is damaged."""
        return not self.unreadable and not any(result.damage for result in self.results)


def verified(arguments: Iterable[str], num_threads: int | None) -> Verified:
    """Reads all records of files, and checks them.

    Args:
        arguments: Files, directories and patterns.
        num_threads: The number of threads that read; None for one for each core.
    """
    contents: dict[str, Content] = {}
    unreadable = []
    for argument in arguments:
        try:
            for path in files_of("verify", argument):
                contents[path] = content_of(path)
        except (OpError, Failure) as error:
            unreadable.append(error.message.splitlines()[0])
    found = {one.content.path: one for one in _read(list(contents.values()), num_threads)}
    return Verified([found[path] for path in contents], unreadable)


def _read(contents: list[Content], num_threads: int | None) -> Iterator[Result]:
    ordered = sorted(contents, key=_group)
    for group, members in groupby(ordered, key=_group):
        if group:
            yield from verified_together(list(members), num_threads)
        else:
            yield from map(verified_alone, members)


def _group(content: Content) -> str:
    """Returns a key, equal for files that are read together; "" for a file that is read alone."""
    if content.kind not in TOGETHER:
        return ""
    if content.kind == Kind.IMAGE:
        return f"images {content.detail == 'TIFF'}" if content.detail in DECODED else ""
    return "records"
