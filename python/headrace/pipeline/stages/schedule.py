"""Sizes of batches and packed rows that depend on the position in the global order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.components import steps
from headrace.pipeline.stages.stage import Effect, Stage

__all__ = ["Schedule", "checked_size", "entries_of", "fixed_size", "num_groups", "turn_after"]


@dataclass(frozen=True, repr=False)
class Schedule:
    """Sizes that change at certain positions.

    Attributes:
        entries: The positions and their sizes, in ascending order. The first position is 0.
    """

    entries: tuple[tuple[int, int], ...]

    def __repr__(self) -> str:
        return repr(dict(self.entries))


def checked_size(where: str, name: str, size: object) -> int | Schedule:
    """Returns a size, or the sizes of a dict from positions to sizes.

    Raises:
        TypeError: If the size is neither an int nor a dict.
        ValueError: If a number is out of range, or there is no size for position 0.
    """
    if not isinstance(size, Mapping):
        return checked_int(where, name, size, 1)
    entries = sorted(
        (
            checked_int(where, f"a position in {name}", position, 0),
            checked_int(where, f"{name}[{position!r}]", one, 1),
        )
        for position, one in size.items()
    )
    if not entries or entries[0][0] != 0:
        raise ValueError(
            f"{where}: {name} is {size!r}, but it has no entry for the beginning. Add one for "
            "position 0."
        )
    return entries[0][1] if len(entries) == 1 else Schedule(tuple(entries))


def fixed_size(size: int | Schedule) -> int | None:
    """Returns the size if it is the same at all positions, or None otherwise."""
    return size if isinstance(size, int) else None


def entries_of(size: int | Schedule) -> Sequence[tuple[int, int]]:
    """Returns the positions from which sizes apply."""
    return [(0, size)] if isinstance(size, int) else size.entries


def num_groups(length: float, size: int | Schedule, num_ranks: int, drops_rest: bool) -> float:
    """Returns the number of groups that a rank's examples form.

    Args:
        length: The number of examples of the rank; `math.inf` for an endless pipeline.
        size: The number of examples in a group.
        num_ranks: The number of ranks.
        drops_rest: Whether an incomplete last group is dropped.
    """
    if length == math.inf:
        return length
    count = position = 0
    entries = entries_of(size)
    for (_, one), (end, _) in pairwise([*entries, (math.inf, 0)]):
        rest = int(length) - position // num_ranks
        # The groups that begin before both the end of this entry and the end of the examples.
        fitting = -(-rest // one)
        if end != math.inf:
            fitting = min(fitting, max(-(-(int(end) - position) // (one * num_ranks)), 0))
        count += fitting
        position += fitting * one * num_ranks
        if position // num_ranks >= length:
            break
    return count - (drops_rest and position // num_ranks > length)


def turn_after(chain: Sequence[Stage]) -> tuple[int, int]:
    """Returns the position of this rank's first example, and the distance to the next one.

    Positions count the examples of all ranks.

    Args:
        chain: The stages before the one that counts.
    """
    first, distance = 0, max((turn_after(part)[1] for part in chain[0].parts), default=1)
    for step in steps(chain):
        if step.effect is Effect.DIVIDES:
            index = 0 if step.piece_shard is not None else cast("Any", step).index
            first, distance = first + index * distance, distance * step.num_shares
    return first, distance
