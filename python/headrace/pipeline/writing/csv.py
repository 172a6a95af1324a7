"""Writes CSV according to RFC 4180, with a header and line feeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.pipeline.writing.column import Column
from headrace.pipeline.writing.shard import Shard, WholeFile
from headrace.pipeline.writing.values import Row
from headrace.pipeline.writing.wording import UnwritableError, Wording

__all__ = ["CsvShard", "check_csv_columns", "no_text"]


def check_csv_columns(columns: Sequence[Column], wording: Wording) -> None:
    """Rejects columns that CSV fields cannot hold.

    Raises:
        UnwritableError: If there is such a column. The message names the first such column and
            suggests a fix.
    """
    for column in columns:
        if column.rank:
            raise UnwritableError(
                f"{wording.component} '{column.name}' is a list, but a CSV field holds a single "
                f"value. {wording.as_list}, or {wording.drop}."
            )
        if column.kind == "bytes":
            raise UnwritableError(no_text(column.name, wording))


def no_text(name: str, wording: Wording) -> str:
    """Returns the message for bytes that must be text."""
    return (
        f"{wording.component} '{name}' contains bytes that are not text. "
        f"{wording.as_text.format(name=name)}, or {wording.drop}."
    )


class CsvShard(Shard):
    """A CSV file."""

    def __init__(self, path: str, compression: str | None, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._file = WholeFile(path, compression)
        self._write([column.name for column in columns])

    def write(self, row: Row, number: int) -> int:
        """Appends a record, and returns its size in bytes. Missing values become empty fields."""
        return self._write(
            [
                column.value(row[column.name]) if column.name in row else None
                for column in self._columns
            ]
        )

    def publish(self) -> None:
        """Completes the file."""
        self._file.publish()

    def discard(self) -> None:
        """Removes the file."""
        self._file.discard()

    def _write(self, fields: Sequence[Any]) -> int:
        # CSV readers skip blank lines.
        line = ",".join(map(_field, fields)) or '""'
        return self._file.stream.write(f"{line}\n".encode())


def _field(value: Any) -> str:
    """Formats a field. Unlike `csv.writer`, it distinguishes missing values from empty strings."""
    if value is None or value != value:  # noqa: PLR0124 (NaN, which an empty field is read as)
        return ""
    if not isinstance(value, str):
        return str(value)
    needs_quotes = not value or any(letter in value for letter in ',"\r\n')
    return '"{}"'.format(value.replace('"', '""')) if needs_quotes else value
