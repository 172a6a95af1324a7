"""The texts that ``headrace tokenize`` reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.file_kinds import Content, Kind, content_of
from headrace.pipeline import Pipeline, files, json_lines, parquet, text_lines
from headrace.pipeline.paths.paths import find_files

__all__ = ["texts_of"]

# Kinds for which prose can be mistaken.
_TEXTS: Final = (Kind.TEXT, Kind.CSV, Kind.STATE)
_OTHERS: Final = (".csv", ".tsv", ".json", ".xml", ".html", ".htm")


class _Texts(NamedTuple):
    """A file that contains texts.

    Attributes:
        kind: "json lines", "parquet" or "text".
        path: The file.
    """

    kind: str
    path: str


def texts_of(sources: Iterable[str], key: str, has_lines: bool) -> list[Pipeline]:
    """Returns pipelines over the texts of the files, in order, with the component `text`.

    Args:
        sources: Paths, directories and patterns.
        key: The JSON key or the column that contains the text.
        has_lines: Whether each line of a text file is a document.

    Raises:
        Failure: If a file contains no texts.
        OpError: If no files are found, or a file cannot be read.
    """
    paths = map(os.fsdecode, find_files("tokenize", sources))
    texts = [one for path in paths if (one := _looked_at(path, has_lines)) is not None]
    if not texts:
        raise Failure("tokenize: the files are empty. Pass files that contain text.")
    groups = groupby(texts, lambda one: one.kind)
    return [_read(kind, [one.path for one in group], key, has_lines) for kind, group in groups]


def _read(kind: str, paths: Sequence[str], key: str, has_lines: bool) -> Pipeline:
    if kind == Kind.TEXT:
        return text_lines(paths) if has_lines else files(paths).select("data").rename(data="text")
    read = json_lines if kind == Kind.JSON_LINES else parquet
    texts = read(paths, {key: str})
    return texts if key == "text" else texts.rename(**{key: "text"})


def _looked_at(path: str, has_lines: bool) -> _Texts | None:
    """Returns a file with its kind, or None if it is empty.

    Raises:
        Failure: If the file has an unsupported kind.
    """
    content = content_of(path)
    match content.kind:
        case Kind.EMPTY if content.mismatch is None:
            return None
        case Kind.JSON_LINES | Kind.PARQUET:
            return _Texts(content.kind, path)
        case kind if kind in _TEXTS and not path.lower().endswith(_OTHERS):
            if content.compression and not has_lines:
                raise Failure(
                    f"{path}: the file is compressed with {content.compression}, but a text file "
                    "that is a single document must be uncompressed. Decompress it, or pass "
                    "--lines if each line is a document."
                )
            return _Texts(Kind.TEXT, path)
    raise _refused(content)


def _refused(content: Content) -> Failure:
    return Failure(
        f"{content.path}: the file's kind is {content.kind}, expected JSON lines, Parquet or text. "
        "Convert it to JSON lines, or rename it if it is text."
    )
