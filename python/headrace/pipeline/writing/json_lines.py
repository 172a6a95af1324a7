"""Writes JSON lines, one object per example."""

from __future__ import annotations

import json
from collections.abc import Sequence

from headrace.pipeline.writing.column import Column
from headrace.pipeline.writing.csv import no_text
from headrace.pipeline.writing.shard import Shard, WholeFile
from headrace.pipeline.writing.values import Row
from headrace.pipeline.writing.wording import UnwritableError, Wording

__all__ = ["JsonShard", "check_json_columns"]


def check_json_columns(columns: Sequence[Column], wording: Wording) -> None:
    """Rejects columns that JSON cannot hold.

    Raises:
        UnwritableError: If there is such a column. The message names the first such column and
            suggests a fix.
    """
    for column in columns:
        if column.kind == "bytes":
            raise UnwritableError(no_text(column.name, wording))


class JsonShard(Shard):
    """A JSON Lines file."""

    def __init__(
        self, path: str, compression: str | None, columns: Sequence[Column], wording: Wording
    ) -> None:
        self._columns = columns
        self._wording = wording
        self._file = WholeFile(path, compression)

    def write(self, row: Row, number: int) -> int:
        """Appends a line, and returns its size in bytes. Keys of missing values are omitted."""
        content = {}
        for column in self._columns:
            if column.name in row:
                try:
                    content[column.name] = column.value(row[column.name])
                except UnicodeDecodeError as error:
                    text = no_text(column.name, self._wording)
                    raise UnwritableError(f"example {number}: {text}") from error
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError as error:
            raise UnwritableError(
                f"example {number} has an infinite or NaN value, which JSON does not support. "
                f"{self._wording.as_numbers}"
            ) from error
        return self._file.stream.write(f"{text}\n".encode())

    def publish(self) -> None:
        """Completes the file."""
        self._file.publish()

    def discard(self) -> None:
        """Removes the file."""
        self._file.discard()
