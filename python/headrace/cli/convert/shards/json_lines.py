"""JSON lines: an object for each example."""

from __future__ import annotations

import json
from collections.abc import Sequence

from headrace.cli.convert.rows import Row
from headrace.cli.convert.shards.column import Column
from headrace.cli.convert.shards.csv import no_text
from headrace.cli.convert.shards.file import WholeFile
from headrace.cli.convert.shards.shard import Shard
from headrace.cli.failures import Failure

__all__ = ["JsonShard", "check_json_columns"]


def check_json_columns(columns: Sequence[Column]) -> None:
    """Refuses columns that JSON cannot hold.

    Raises:
        Failure: Names the first of them, and the remedy.
    """
    for column in columns:
        if column.kind == "bytes":
            raise Failure(no_text(column.name))


class JsonShard(Shard):
    """A file of JSON lines."""

    def __init__(self, path: str, compression: str | None, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._file = WholeFile(path, compression)

    def write(self, row: Row, number: int) -> int:
        """Appends a line; what an example lacks, its object lacks."""
        content = {
            column.name: column.value(row[column.name])
            for column in self._columns
            if column.name in row
        }
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError as error:
            raise Failure(
                f"example {number} has a number that is infinite or no number, which JSON cannot "
                "say. Use --to parquet."
            ) from error
        return self._file.stream.write(f"{text}\n".encode())

    def publish(self) -> None:
        """Completes the file."""
        self._file.publish()

    def discard(self) -> None:
        """Removes the file."""
        self._file.discard()
