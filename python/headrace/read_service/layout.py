"""The layout: which reader produces each batch of the common order."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

__all__ = ["Layout", "ReaderAssignment", "arranged"]


@dataclass(frozen=True)
class ReaderAssignment:
    """The readers for all batches from `first` on. Batch `k` comes from `k % len(readers)`.

    Attributes:
        first: The number of the first batch.
        readers: The names of the readers, at least one.
    """

    first: int
    readers: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """The assignment of batches to readers.

    It names the best reader for a batch, but any reader returns any batch on request. Trainers may
    therefore use different layouts while a new layout replaces the old one.

    Attributes:
        version: The version. Later layouts have higher versions.
        turns: The assignments by the number of their first batch, in ascending order, from 0.
    """

    version: int
    turns: tuple[ReaderAssignment, ...]

    def turn_of(self, number: int) -> ReaderAssignment:
        """Returns the assignment for a batch."""
        return self.turns[bisect_right(self.turns, number, key=lambda turn: turn.first) - 1]

    def reader_of(self, number: int) -> str:
        """Returns the name of the reader for a batch."""
        readers = self.turn_of(number).readers
        return readers[number % len(readers)]

    def count_of(self, number: int) -> int:
        """Returns the number of readers that share the batches around this one."""
        return len(self.turn_of(number).readers)

    @property
    def readers(self) -> tuple[str, ...]:
        """The readers of the last assignment."""
        return self.turns[-1].readers

    def readers_of(self, first: int, step: int) -> set[str]:
        """Returns the readers of the batches `first`, `first + step`, … in each assignment."""
        return {
            turn.readers[index]
            for turn in self.turns
            for divisor in [gcd(len(turn.readers), step)]
            for index in range(first % divisor, len(turn.readers), divisor)
        }

    def changed(self, readers: Sequence[str], first: int, oldest: int = 0) -> "Layout":
        """Returns a layout that uses new readers from batch `first` on.

        Args:
            readers: The readers' names.
            first: The number of the new readers' first batch. Earlier batches keep their readers.
            oldest: The number of the oldest batch that may still be requested.
        """
        before = [turn for turn in self.turns if turn.first < first]
        while len(before) > 1 and before[1].first <= oldest:
            del before[0]
        if not before:
            return Layout(self.version + 1, (ReaderAssignment(0, tuple(readers)),))
        before[0] = ReaderAssignment(0, before[0].readers)
        return Layout(self.version + 1, (*before, ReaderAssignment(first, tuple(readers))))

    def without(self, reader: str) -> "Layout":
        """Returns a layout in which other readers replace one reader.

        Raises:
            ValueError: If the replaced reader is the only one.
        """
        rest = tuple(name for name in self.readers if name != reader)
        if not rest:
            raise ValueError(f"reader {reader!r} is the only one, so it cannot be replaced.")
        turns = tuple(
            ReaderAssignment(turn.first, _replaced(turn.readers, reader, rest))
            for turn in self.turns
        )
        return Layout(self.version + 1, turns)


def _replaced(readers: Sequence[str], lost: str, rest: Sequence[str]) -> tuple[str, ...]:
    kept = tuple(name for name in readers if name != lost)
    return kept or tuple(rest)


def arranged(nodes: Mapping[str, str], trainers: Sequence[str]) -> tuple[str, ...]:
    """Orders the readers so that most batches stay on one node.

    Batch `k` goes from reader `k % num_readers` to trainer `k % num_trainers`. If one number
    divides the other, each reader has its own trainers and can be on their node.

    Args:
        nodes: The node of each reader, by name.
        trainers: The node of each trainer, by rank.
    """
    order = [trainers[index % len(trainers)] for index in range(len(nodes))] if trainers else []
    left: dict[str, list[str]] = {}
    for name in sorted(nodes, reverse=True):
        left.setdefault(nodes[name], []).append(name)
    # Trainers with a reader on their node come first, then the others.
    beside = [left[node].pop() if left.get(node) else None for node in order]
    others = iter(sorted(name for names in left.values() for name in names))
    if not beside:
        return tuple(others)
    return tuple(name if name is not None else next(others) for name in beside)
