"""Writes examples to shards, one after the other, and records each complete shard."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from headrace.io import storage
from headrace.pipeline.writing.journal import Journal
from headrace.pipeline.writing.shard import Shard

__all__ = ["Examples", "Output", "has_size", "write_shards"]


class Examples(Iterator[Mapping[str, Any]], Protocol):
    """An iteration with states."""

    def state(self) -> dict[str, Any]:
        """Returns the state after the last example that was taken."""


class Output(ABC):
    """The files to write.

    Attributes:
        shard_bytes: A shard ends with the example that reaches this size, or None for no limit.
    """

    shard_bytes: int | None = None

    @abstractmethod
    def begin(self, number: int) -> tuple[str, Shard]:
        """Starts shard `number`. Returns its path (empty if it has none) and the shard."""

    @abstractmethod
    def most(self, number: int) -> int | None:
        """Returns the maximum number of examples in shard `number`, or None for no limit."""

    @abstractmethod
    def write(self, shard: Shard, example: Mapping[str, Any], number: int) -> int:
        """Appends example `number`, counted over all shards, and returns its size in bytes."""

    @abstractmethod
    def note(self) -> None:
        """Called after each example. It may raise an exception to stop the run."""

    def names(self) -> list[str]:
        """Returns the names of the last shard's files, if it has no path of its own."""
        return []


def write_shards(output: Output, examples: Examples, journal: Journal) -> int:
    """Writes all examples that are not in the journal's shards yet.

    Returns:
        The number of examples in all shards.
    """
    number = len(journal.done)
    num_examples: int = sum(line["examples"] for line in journal.done)
    while (first := next(examples, None)) is not None:
        path, shard = output.begin(number)
        try:
            count = _fill(output, number, (shard, num_examples), first, examples)
            shard.publish()
        except BaseException:
            shard.discard()
            raise
        num_examples += count
        journal.is_needed = True
        journal.add(
            {
                "path": path,
                "size": storage.status(path).length if path else 0,
                "names": output.names(),
                "examples": count,
                "state": examples.state(),
            }
        )
        number += 1
    return num_examples


def _fill(
    output: Output,
    number: int,
    to: tuple[Shard, int],
    first: Mapping[str, Any],
    examples: Examples,
) -> int:
    """Writes examples until a shard reaches its number of examples or its size.

    Args:
        output: The files to write.
        number: The number of the shard.
        to: The shard, and the number of examples before it.
        first: The first example of the shard.
        examples: The remaining examples.

    Returns:
        The number of examples in the shard.
    """
    (shard, begin), most = to, output.most(number)
    example: Mapping[str, Any] | None = first
    count, size = 0, 0
    while example is not None:
        size += output.write(shard, example, begin + count)
        count += 1
        output.note()
        if count == most or size >= (output.shard_bytes or math.inf):
            break
        example = next(examples, None)
    return count


def has_size(path: str, size: int) -> bool:
    """Returns whether a file exists and has this size."""
    if storage.is_remote(path):
        (entry,) = storage.statuses([path])
        return entry is not None and entry.length == size
    return os.path.isfile(path) and os.path.getsize(path) == size
