"""The checkpoints in a state, stored as a flat list; see the binding's `checkpoint.rs`.

Each checkpoint follows the checkpoints of its inputs, and has the form `[skip, numbers, number of
inputs, text]`. Zeros and missing values at its end are omitted. The list is flat, so that JSON and
pickle can store the position of a pipeline of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Checkpoint", "last_checkpoint"]


class Checkpoint(NamedTuple):
    """A position in a stage's rows, from which the stage can resume.

    Attributes:
        skip: The number of examples that the stage has returned since the position in `numbers`.
        numbers: The position of the stage, as numbers.
        inputs: The checkpoints of the preceding stages.
    """

    skip: int
    numbers: list[int]
    inputs: list[Checkpoint]


def last_checkpoint(checkpoints: Sequence[Sequence[Any]]) -> Checkpoint:
    """Returns the checkpoint of the last stage.

    Raises:
        ValueError: If the list does not contain valid checkpoints.
    """
    free: list[Checkpoint] = []
    for skip, *rest in checkpoints:
        numbers = rest[0] if rest else []
        start = len(free) - (rest[1] if len(rest) > 1 else 0)
        if start < 0:
            raise ValueError("a checkpoint needs more inputs than there are.")
        free[start:] = [Checkpoint(skip, numbers, free[start:])]
    (checkpoint,) = free
    return checkpoint
