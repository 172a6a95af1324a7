"""Writes Parquet with pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from headrace.pipeline.writing.column import Column
from headrace.pipeline.writing.shard import Shard, WholeFile
from headrace.pipeline.writing.values import Row

__all__ = ["ParquetShard"]

# A row group ends with the example that reaches one of these limits.
_GROUP_ROWS: Final = 1 << 16
_GROUP_BYTES: Final = 64 << 20
_NUMBER_BYTES: Final = 8


class ParquetShard(Shard):
    """A Parquet file with page checksums."""

    def __init__(self, path: str, compression: str | None, columns: Sequence[Column]) -> None:
        self._arrow = import_module("pyarrow")
        self._columns = columns
        self._file = WholeFile(path, None)
        self._schema = self._arrow.schema([(one.name, self._type(one)) for one in columns])
        self._writer = import_module("pyarrow.parquet").ParquetWriter(
            self._file.stream,
            self._schema,
            compression=compression or "none",
            write_page_checksum=True,
        )
        self._forget()

    def write(self, row: Row, number: int) -> int:
        """Appends a row, and returns its size in bytes. A missing value becomes null."""
        size = 0
        for column, values in zip(self._columns, self._values, strict=True):
            one = row.get(column.name)
            values.append(None if one is None else column.value(one, is_short=False))
            size += 0 if one is None else _size(one.items)
        self._num_rows += 1
        self._num_bytes += size
        if self._num_rows >= _GROUP_ROWS or self._num_bytes >= _GROUP_BYTES:
            self._flush()
        return size

    def publish(self) -> None:
        """Completes the file."""
        self._flush()
        self._writer.close()
        self._file.publish()

    def discard(self) -> None:
        """Removes the file."""
        self._writer.close()
        self._file.discard()

    def _flush(self) -> None:
        if self._num_rows:
            arrays = [
                self._arrow.array(values, field.type)
                for values, field in zip(self._values, self._schema, strict=True)
            ]
            self._writer.write_table(self._arrow.table(arrays, schema=self._schema))
        self._forget()

    def _forget(self) -> None:
        self._values: list[list[Any]] = [[] for _ in self._columns]
        self._num_rows, self._num_bytes = 0, 0

    def _type(self, column: Column) -> Any:
        types = {
            "text": self._arrow.string(),
            "base64": self._arrow.string(),
            "bytes": self._arrow.binary(),
            "float": self._arrow.float32(),
            "bool": self._arrow.bool_(),
        }
        kind = types.get(column.kind) or getattr(self._arrow, column.kind)()
        for _ in range(column.rank):
            kind = self._arrow.list_(kind)
        return kind


def _size(items: Sequence[Any]) -> int:
    return sum(len(item) if isinstance(item, bytes) else _NUMBER_BYTES for item in items)
