"""Writes TFRecord files."""

from __future__ import annotations

import os
from typing import Any

from headrace.io.os_errors import os_errors
from headrace.io.records import TFRecordWriter
from headrace.io.storage import is_remote
from headrace.pipeline.writing.shard import Shard
from headrace.pipeline.writing.values import Row, Values
from headrace.pipeline.writing.wording import UnwritableError, Wording

__all__ = ["RecordShard"]


class RecordShard(Shard):
    """A TFRecord file with `tf.train.Example`s or unchanged records.

    Args:
        path: The file.
        compression: "gzip", "zlib" or None.
        wording: The terms to use in error messages.
    """

    def __init__(self, path: str, compression: str | None, wording: Wording) -> None:
        self._path = path
        self._wording = wording
        self._writer = TFRecordWriter(path, (compression or "").upper())

    def write(self, row: Row, number: int) -> int:
        """Appends an example."""
        return self.write_record(_serialized(row, number, self._wording))

    def write_record(self, record: bytes) -> int:
        """Appends a record unchanged, and returns its size in bytes."""
        self._writer.write(record)
        return len(record)

    def publish(self) -> None:
        """Completes the file."""
        self._writer.close()
        if is_remote(self._path):
            return
        with os_errors(self._path):
            file = os.open(self._path, os.O_RDONLY)
            try:
                # The journal must not list a file that a power failure could remove.
                os.fsync(file)
            finally:
                os.close(file)

    def discard(self) -> None:
        """Removes the file."""
        self._writer.discard()


def _serialized(row: Row, number: int, wording: Wording) -> bytes:
    """Converts a row to a serialized `tf.train.Example`.

    Raises:
        UnwritableError: If the row contains a value that an `Example` cannot hold.
    """
    from headrace.protos import Example  # noqa: PLC0415 (an extra, which other formats do without)

    example = Example()
    for name, values in row.items():
        feature = example.features.feature[name]
        try:
            _fill(feature, values)
        except (TypeError, ValueError) as error:
            raise UnwritableError(
                f"example {number}: {name} is {values.kind}, which an Example cannot store: "
                f"{error}. {wording.dropped}"
            ) from error
    return example.SerializeToString(deterministic=True)


def _fill(feature: Any, values: Values) -> None:
    kind = values.kind or "bytes"
    if kind == "bytes":
        feature.bytes_list.value.extend(values.items)
    elif kind == "str":
        feature.bytes_list.value.extend([item.encode() for item in values.items])
    elif kind.startswith("float"):
        feature.float_list.value.extend(values.items)
    elif kind == "bool":
        feature.int64_list.value.extend(map(int, values.items))
    else:
        feature.int64_list.value.extend(values.items)
