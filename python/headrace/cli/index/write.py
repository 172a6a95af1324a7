"""Writes headrace's index files, which contain the positions of records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.file_kinds import Content, Kind, content_of
from headrace.cli.file_pipelines import source_of
from headrace.core import engine
from headrace.pipeline.paths.listing import INDEX_SUFFIX
from headrace.pipeline.paths.paths import find_files
from headrace.pipeline.stages.components import source_of as first_stage

__all__ = ["IndexResult", "files_to_index", "write_index"]

_KINDS: Final = (
    *(Kind.TFRECORD, Kind.EVENTS, Kind.SESSION),
    *(Kind.CSV, Kind.JSON_LINES, Kind.JSON_ARRAY, Kind.TAR, Kind.TEXT, Kind.STATE),
)


class IndexResult(NamedTuple):
    """The index of a file.

    Attributes:
        path: The path of the file.
        index_path: The path of the index. None if the file has no records.
        num_records: The number of records.
        is_new: Whether the index was written. False if it already existed.
    """

    path: str
    index_path: str | None
    num_records: int
    is_new: bool


def files_to_index(arguments: Iterable[str]) -> list[str]:
    """Returns the files that the arguments refer to, except for index files.

    Raises:
        OpError: If there are no files, or they cannot be listed.
    """
    paths = [os.fsdecode(path) for path in find_files("index", arguments)]
    return [path for path in paths if not path.endswith((".idx", INDEX_SUFFIX))]


def write_index(path: str, directory: str | None, kind: str | None) -> IndexResult:
    """Writes the index of a file unless it is up to date.

    Args:
        path: The path of the file.
        directory: The directory of the index. None for the directory of the file.
        kind: The kind of the file. None to detect it from the content.

    Raises:
        Failure: If files of this kind cannot have an index, or the file is compressed.
        OpError: If the file is damaged or cannot be read, or the index cannot be written.
    """
    content = content_of(path)
    if kind is not None:
        content = content._replace(kind=kind)
    if content.kind == Kind.EMPTY:
        return IndexResult(path, None, 0, False)
    _check(content)
    records = first_stage(source_of(content)._stages).records()
    assert records is not None
    with engine.op_errors():
        index = engine.make_index(records, 0, directory)
    return IndexResult(path, os.fsdecode(index.path), index.num_records, index.is_new)


def _check(content: Content) -> None:
    if content.compression:
        raise Failure(
            f"{content.path}: the file is compressed with {content.compression}, so its records "
            "cannot be read separately. Convert it first with headrace convert."
        )
    if content.kind not in _KINDS:
        raise Failure(
            f"{content.path}: the file's kind is {content.kind}, but only TFRecords, CSV, JSON "
            "lines, tar and text can be indexed. Other files need no index, or contain their own."
        )
