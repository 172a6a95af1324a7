"""The marks of a state's place, a flat list: see `checkpoint.rs` of the binding.

Each mark comes behind those of its inputs, as `[skip, numbers, number of inputs, text]`, without
what is 0 or missing at its end. So JSON and pickle take the place of a pipeline of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Mark", "last_mark"]


class Mark(NamedTuple):
    """A mark.

    Attributes:
        skip: How many examples behind a state of the stage.
        numbers: Those of that state.
        inputs: The marks of the stages before.
    """

    skip: int
    numbers: list[int]
    inputs: list[Mark]


def last_mark(place: Sequence[Sequence[Any]]) -> Mark:
    """Returns the mark of the last stage.

    Raises:
        ValueError: If the place is none that the engine gives.
    """
    free: list[Mark] = []
    for skip, *rest in place:
        numbers = rest[0] if rest else []
        start = len(free) - (rest[1] if len(rest) > 1 else 0)
        if start < 0:
            raise ValueError("a mark has more inputs than there are.")
        free[start:] = [Mark(skip, numbers, free[start:])]
    (mark,) = free
    return mark
