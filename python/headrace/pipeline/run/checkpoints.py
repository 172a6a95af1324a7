"""The checkpoints in a state's place, which is a flat list; see `checkpoint.rs` of the binding.

Each checkpoint follows the checkpoints of its inputs, as `[skip, numbers, number of inputs, text]`.
Zeros and missing values at its end are omitted. JSON and pickle can therefore hold the place of a
pipeline of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Checkpoint", "last_checkpoint"]


class Checkpoint(NamedTuple):
    """A position in the rows of a stage, from which it can resume.

    Attributes:
        skip: The number of examples that the stage has returned since the position in `numbers`.
        numbers: The position of the stage, as numbers.
        inputs: The checkpoints of the stages before.
    """

    skip: int
    numbers: list[int]
    inputs: list[Checkpoint]


def last_checkpoint(checkpoints: Sequence[Sequence[Any]]) -> Checkpoint:
    """Returns the checkpoint of the last stage.

    Raises:
        ValueError: If the list is not valid checkpoints.
    """
    free: list[Checkpoint] = []
    for skip, *rest in checkpoints:
        numbers = rest[0] if rest else []
        start = len(free) - (rest[1] if len(rest) > 1 else 0)
        if start < 0:
            raise ValueError("a checkpoint has more inputs than there are.")
        free[start:] = [Checkpoint(skip, numbers, free[start:])]
    (checkpoint,) = free
    return checkpoint
