"""Writes examples into shards, one after the other, and notes each that is whole."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from headrace.pipeline.writing.journal import Journal
from headrace.pipeline.writing.shard import Shard

__all__ = ["Examples", "Output", "has_size", "write_shards"]


class Examples(Iterator[Mapping[str, Any]], Protocol):
    """An iteration, and its states."""

    def state(self) -> dict[str, Any]:
        """Returns its state behind the example that was taken last."""


class Output(ABC):
    """The files that are written.

    Attributes:
        shard_bytes: A shard ends with the example that reaches this; None for no limit.
    """

    shard_bytes: int | None = None

    @abstractmethod
    def begin(self, number: int) -> tuple[str, Shard]:
        """Returns the path of shard `number`, empty if it has none of its own, and the shard."""

    @abstractmethod
    def most(self, number: int) -> int | None:
        """Returns how many examples shard `number` gets at most; None for no limit."""

    @abstractmethod
    def write(self, shard: Shard, example: Mapping[str, Any], number: int) -> int:
        """Appends example `number`, over all shards, and returns how many bytes it has."""

    @abstractmethod
    def note(self) -> None:
        """Is told after each example; may raise."""

    def names(self) -> list[str]:
        """Returns the names of what the last shard has written, if it has no path."""
        return []


def write_shards(output: Output, examples: Examples, journal: Journal) -> int:
    """Writes what follows the shards of the journal, until there are no examples left.

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
                "size": os.path.getsize(path) if path else 0,
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
    """Writes examples until a shard has as many, or as many bytes, as it should.

    Args:
        output: The files.
        number: The number of the shard.
        to: The shard, and the number of examples before it.
        first: Its first example.
        examples: Those that follow.

    Returns:
        The number of examples in it.
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
    """Returns whether a file is there with so many bytes."""
    return os.path.isfile(path) and os.path.getsize(path) == size
