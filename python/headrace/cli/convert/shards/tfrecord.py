"""TFRecords."""

from __future__ import annotations

import os

from headrace.cli.convert.rows import Row, serialized
from headrace.cli.convert.shards.shard import Shard
from headrace.io.os_errors import os_errors
from headrace.io.records import TFRecordWriter

__all__ = ["RecordShard"]


class RecordShard(Shard):
    """A TFRecord file of `Example`s, or of records as they were.

    Args:
        path: The file.
        compression: "gzip", "zlib" or None.
    """

    def __init__(self, path: str, compression: str | None) -> None:
        self._path = path
        self._writer = TFRecordWriter(path, (compression or "").upper())

    def write(self, row: Row, number: int) -> int:
        """Appends an example."""
        return self.write_record(serialized(row, number))

    def write_record(self, record: bytes) -> int:
        """Appends a record as it is."""
        self._writer.write(record)
        return len(record)

    def publish(self) -> None:
        """Completes the file."""
        self._writer.close()
        with os_errors(self._path):
            file = os.open(self._path, os.O_RDONLY)
            try:
                # The journal must not list a file that a power loss could remove.
                os.fsync(file)
            finally:
                os.close(file)

    def discard(self) -> None:
        """Removes the file."""
        self._writer.discard()
