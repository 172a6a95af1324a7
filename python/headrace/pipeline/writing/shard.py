"""The interface of shards, the same for all formats."""

from __future__ import annotations

from abc import ABC, abstractmethod

from headrace.pipeline.writing.values import Row

__all__ = ["Shard"]


class Shard(ABC):
    """A file of the output, which gets its name when it is published."""

    @abstractmethod
    def write(self, row: Row, number: int) -> int:
        """Appends an example, and returns how many bytes it has, uncompressed.

        Args:
            row: The example.
            number: The number of the example, over all shards.

        Raises:
            UnwritableError: If the format cannot hold it.
        """

    @abstractmethod
    def publish(self) -> None:
        """Completes the file and gives it its name."""

    @abstractmethod
    def discard(self) -> None:
        """Removes the file, unless it is published."""
