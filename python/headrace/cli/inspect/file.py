"""Reports on files of any kind."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeAlias

from headrace.cli.file_kinds import Content, Kind, content_of
from headrace.cli.inspect.index_files import report_of_index
from headrace.cli.inspect.other_files import report_of_image, report_of_unknown
from headrace.cli.inspect.parquet import report_of_parquet
from headrace.cli.inspect.records import report_of_records
from headrace.cli.inspect.report import InspectOptions, ShownExample
from headrace.cli.inspect.tables import report_of_table, report_of_text
from headrace.core.repr_prefix import without_passwords

__all__ = ["inspected"]

_Reporter: TypeAlias = Callable[
    [Content, InspectOptions], tuple[dict[str, Any], list[ShownExample]]
]


def _of_tensorflow1(name: str) -> _Reporter:
    """Returns a reporter that imports `headrace.tf1` when it is called."""

    def report(
        content: Content, looked: InspectOptions
    ) -> tuple[dict[str, Any], list[ShownExample]]:
        reporter: _Reporter = getattr(import_module(_TENSORFLOW1), name)
        return reporter(content, looked)

    return report


_TENSORFLOW1: Final = "headrace.cli.inspect.tensorflow1_files"
_REPORTERS: Final[dict[str, _Reporter]] = {
    Kind.TFRECORD: report_of_records,
    Kind.CSV: report_of_table,
    Kind.JSON_LINES: report_of_table,
    Kind.JSON_ARRAY: report_of_table,
    Kind.TAR: report_of_table,
    Kind.PARQUET: report_of_parquet,
    Kind.TEXT: report_of_text,
    Kind.STATE: report_of_text,
    Kind.IMAGE: report_of_image,
    Kind.BUNDLE: _of_tensorflow1("report_of_bundle"),
    Kind.SESSION: _of_tensorflow1("report_of_session"),
    Kind.EVENTS: _of_tensorflow1("report_of_events"),
    Kind.INDEX: report_of_index,
}


def inspected(path: str, looked: InspectOptions) -> tuple[dict[str, Any], list[ShownExample]]:
    """Returns the report of a file and the examples to show.

    Raises:
        Failure: If the path is not a regular file.
        OpError: If the file cannot be read.
    """
    content = content_of(path)
    report, shown = _REPORTERS.get(content.kind, report_of_unknown)(content, looked)
    head = {
        "file": without_passwords(content.path),
        "kind": content.kind,
        "compression": content.compression,
        "size_bytes": content.size_bytes,
    }
    return {**head, **report}, shown
