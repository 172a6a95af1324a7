"""Pipelines over single files, for commands that read all records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace import ops, pipeline
from headrace.cli.file_kinds import Content, Kind
from headrace.core.errors import OpError
from headrace.core.progress import Bar
from headrace.pipeline import Pipeline, Skipped
from headrace.pipeline.native_functions import native

__all__ = ["ALL", "Count", "counted", "record_sizes", "source_of"]

# The budget for skipped examples. It is large enough for all examples of any file, and for losses
# that cannot be counted.
ALL: Final = 1 << 62
_BATCH: Final = 1 << 16
_TEXTS: Final = (Kind.TEXT, Kind.UNKNOWN, Kind.STATE)


class Count(NamedTuple):
    """Totals for all records of a file.

    Attributes:
        num_records: The number of readable records.
        num_bytes: The total size of these records in bytes. None for records that are not byte
            strings.
        least_bytes: The size of the smallest record.
        most_bytes: The size of the largest record.
        damage: The unreadable parts.
    """

    num_records: int
    num_bytes: int | None
    least_bytes: int | None
    most_bytes: int | None
    damage: list[Skipped]


def source_of(  # noqa: PLR0911 (one for each kind)
    content: Content, is_counted: bool = False
) -> Pipeline:
    """Returns a pipeline over a file. Its components depend on the kind of the file.

    Args:
        content: The file.
        is_counted: Whether values are only counted, so that empty fields in a table are not an
            error.

    Raises:
        OpError: During iteration, if the file cannot be read.
    """
    path, compression = content.path, "auto" if content.compression else None
    match content.kind:
        case Kind.CSV:
            source = partial(
                pipeline.csv, path, delimiter=content.detail or ",", compression=compression
            )
            return source(defaults=_defaults(source(), is_counted))
        case Kind.JSON_LINES | Kind.JSON_ARRAY:
            is_array = content.kind == Kind.JSON_ARRAY
            read = pipeline.json_array if is_array else pipeline.json_lines
            source = partial(read, path, compression=compression)
            return source(defaults=_defaults(source(), is_counted))
        case Kind.TAR:
            return pipeline.webdataset(path, compression=compression)
        case Kind.PARQUET:
            return pipeline.parquet(path)
        case Kind.TEXT | Kind.UNKNOWN | Kind.STATE:
            return pipeline.text_lines(path, compression=compression)
        case Kind.IMAGE:
            return pipeline.files(path)
    return pipeline.tfrecords(path, compression=compression)


def _defaults(source: Pipeline, is_counted: bool) -> dict[str, float]:
    """Returns NaN for each float column and, if values are only counted, 0 for other numbers."""
    try:
        specs = source.spec
    except OpError:
        return {}  # The file cannot be read. The iteration reports the error.
    kinds = {
        name: spec.dtype.kind
        for name, spec in specs.items()
        if spec.shape == () and not isinstance(spec.dtype, type)
    }
    floats = {name: math.nan for name, kind in kinds.items() if kind == "f"}
    integers = {name: 0 for name, kind in kinds.items() if kind in "iu" and is_counted}
    return floats | integers


@native
def _record_bytes(example: dict[str, Any]) -> dict[str, Any]:
    return {"bytes": ops.string_length(example["record"])}


@native
def _line_bytes(example: dict[str, Any]) -> dict[str, Any]:
    return {"bytes": ops.string_length(example["text"])}


def counted(content: Content, is_shown: bool = True) -> Count:
    """Reads and checks all records of a file, and counts the undamaged ones.

    Args:
        content: The file.
        is_shown: Whether to show a progress bar on a terminal.
    """
    if content.kind in (*_TEXTS, Kind.TFRECORD, Kind.EVENTS, Kind.SESSION, Kind.EMPTY):
        return _sized(content, is_shown)
    return _numbered(content, source_of(content, is_counted=True), is_shown)


def record_sizes(
    content: Content, damage: list[Skipped], is_shown: bool = True
) -> Iterator[npt.NDArray[np.int32]]:
    """Yields the sizes of records or lines in bytes, many at a time.

    Args:
        content: The file.
        damage: A list to which the unreadable parts are appended at the end.
        is_shown: Whether to show a progress bar on a terminal.
    """
    size = _line_bytes if content.kind in _TEXTS else _record_bytes
    for batch in _batches(content, source_of(content).map(size), is_shown, damage):
        yield batch["bytes"]


def _sized(content: Content, is_shown: bool) -> Count:
    number, total = 0, 0
    least: int | None = None
    most: int | None = None
    damage: list[Skipped] = []
    for sizes in record_sizes(content, damage, is_shown):
        number, total = number + len(sizes), total + int(sizes.sum(dtype="int64"))
        shortest, longest = int(sizes.min()), int(sizes.max())
        least = shortest if least is None else min(least, shortest)
        most = longest if most is None else max(most, longest)
    return Count(number, total, least, most, damage)


def _numbered(content: Content, source: Pipeline, is_shown: bool) -> Count:
    numbers = source.with_origin().select("record_number")
    damage: list[Skipped] = []
    batches = _batches(content, numbers, is_shown, damage)
    number = sum(len(batch["record_number"]) for batch in batches)
    return Count(number, None, None, None, damage)


def _batches(
    content: Content, source: Pipeline, is_shown: bool, damage: list[Skipped]
) -> Iterator[dict[str, Any]]:
    """Yields batches. At the end, appends the unreadable parts to `damage`."""
    total = content.size_bytes if content.compression is None else None
    with (
        iter(source.skip_errors(ALL).batch(_BATCH)) as batches,
        Bar(content.path, total, "B", is_shown) as bar,
    ):
        for batch in batches:
            yield batch
            bar.move_to(batches.statistics().stages[0].bytes)
        damage += batches.skipped
