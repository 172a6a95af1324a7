"""Shards: files of any format that get their final names once they are complete."""

from __future__ import annotations

import gzip
import io
from abc import ABC, abstractmethod
from typing import IO, Any, cast

from headrace.io.atomic_file import AtomicFile
from headrace.pipeline.writing.values import Row

__all__ = ["Shard", "WholeFile"]


class Shard(ABC):
    """An output file. It gets its final name once it is complete."""

    @abstractmethod
    def write(self, row: Row, number: int) -> int:
        """Appends an example, and returns its uncompressed size in bytes.

        Args:
            row: The example.
            number: The number of the example, counted over all shards.

        Raises:
            UnwritableError: If the format cannot hold the example.
        """

    @abstractmethod
    def publish(self) -> None:
        """Completes the file and renames it to its final name."""

    @abstractmethod
    def discard(self) -> None:
        """Removes the file, unless it has its final name."""


class _Raw(io.RawIOBase):
    """The lowest layer of a stream, below Python's buffers."""

    def __init__(self, file: AtomicFile) -> None:
        self._file = file
        self.is_discarded = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def write(self, data: Any) -> int:
        # Python's streams write their buffers when they are garbage-collected.
        return len(bytes(data)) if self.is_discarded else self._file.write(bytes(data))


class WholeFile:
    """A file that is written from start to end.

    Args:
        path: The final path.
        compression: "gzip" or None.

    Attributes:
        stream: The stream to write to.
    """

    def __init__(self, path: str, compression: str | None) -> None:
        self._file = AtomicFile(path)
        self._raw = _Raw(self._file)
        self._buffer = io.BufferedWriter(self._raw, 1 << 20)
        self.stream: IO[bytes] = self._buffer
        if compression == "gzip":
            # The header contains neither a name nor a time, so the same examples give the same
            # bytes.
            packed = gzip.GzipFile("", "wb", 6, self._buffer, mtime=0)
            self.stream = cast("IO[bytes]", packed)

    def publish(self) -> None:
        """Flushes the file and renames it to its final name."""
        if self.stream is not self._buffer:
            self.stream.close()
        self._buffer.flush()
        self._file.sync()
        self._file.publish()

    def discard(self) -> None:
        """Removes the file, unless it has its final name."""
        self._raw.is_discarded = True
        self._file.discard()
