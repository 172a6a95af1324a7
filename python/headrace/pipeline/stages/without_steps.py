"""`without_steps`: omits the batches of some steps."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth, steps
from headrace.pipeline.stages.stage import (
    Effect,
    KeepsComponents,
    Planning,
    Stage,
    Stages,
    StepRange,
)

__all__ = ["WithoutSteps", "WithoutStepsMethod", "left_out_steps", "with_all_steps"]


@dataclass(frozen=True)
class WithoutSteps(KeepsComponents):
    """Leaves out the batches of some steps.

    Attributes:
        ranges: The steps, in ascending order and without overlaps.
    """

    ranges: tuple[StepRange, ...]

    # The engine makes these batches too, to leave all others unchanged. `Batches` drops them.
    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = False
    added_axes: ClassVar = 0
    # States list the steps that were omitted so far.
    described_by: ClassVar = None

    @property
    def left_out(self) -> tuple[StepRange, ...]:
        """The steps whose batches are omitted."""
        return self.ranges

    def length_after(self, length: float) -> float:
        """Returns the number of remaining batches."""
        if length == math.inf:
            return length
        return length - sum(max(min(end, length) - start, 0) for start, end in self.ranges)

    def plan_into(self, planning: Planning) -> None:
        """Adds nothing to the engine's plan."""


class WithoutStepsMethod(Chain):
    """The method `without_steps`."""

    __slots__ = ()

    def without_steps(self, ranges: Iterable[StepRange]) -> Self:
        """Omits the batches of some steps, and changes no other batch.

        Use it if training diverged because of a few batches. Resume from a state before them, and
        omit their steps.

        Steps count the batches that your loop receives, from 0 and over all epochs, like the steps
        of a `Ledger`. In loops over `epoch(e)` or `to_torch()`, epoch `e` starts at `e` times the
        number of batches of an epoch, so that number must be known. All ranks omit the same steps.

        Afterwards, steps are numbered without a gap: if you omit (340, 352), step 340 is the batch
        that was step 352 before. To omit steps of this new run as well, call `without_steps` again
        after the first call.

        `Batches.position` still counts the examples of the omitted batches. Digests change from the
        first omitted step on. `resume` accepts a state if its run omitted the same steps up to the
        position of the state.

        Args:
            ranges: Pairs of the first step and the step after the last one. They may overlap.

        Raises:
            TypeError: If `ranges` is not a list of pairs.
            ValueError: If a step is negative or a range is empty, or the pipeline yields examples
                instead of batches.

        Examples:
            >>> pipe = hr.arrays({"x": range(10)}).batch(2)
            >>> [batch["x"].tolist() for batch in pipe.without_steps([(1, 3)])]
            [[0, 1], [6, 7], [8, 9]]
        """
        checked = _merged(_checked(ranges))
        if not batch_depth(self._stages):
            raise ValueError(
                "without_steps: the pipeline yields examples, expected batches. Call "
                "without_steps after batch(...)."
            )
        return self._then(WithoutSteps(checked))


def left_out_steps(chain: Sequence[Stage]) -> tuple[StepRange, ...]:
    """Returns the steps that a pipeline omits, counted before any are omitted."""
    ranges: tuple[StepRange, ...] = ()
    for step in steps(chain):
        added = [
            (_step_before(start, ranges), _step_before(end - 1, ranges) + 1)
            for start, end in step.left_out
        ]
        ranges = _merged([*ranges, *added])
    return ranges


def with_all_steps(chain: Stages) -> Stages:
    """Returns the stages, except stages that omit steps."""
    return (chain[0], *(step for step in steps(chain) if not step.left_out))


def _step_before(step: int, ranges: Sequence[StepRange]) -> int:
    """Returns the number that a step had before other steps were omitted."""
    for start, end in ranges:
        if step >= start:
            step += end - start
    return step


def _merged(ranges: Iterable[StepRange]) -> tuple[StepRange, ...]:
    merged: list[StepRange] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _checked(ranges: object) -> list[StepRange]:
    pairs: list[Any] = list(ranges) if isinstance(ranges, Iterable) else [ranges]
    if any(not isinstance(pair, Sequence) or len(pair) != 2 for pair in pairs):
        raise TypeError(
            f"without_steps: ranges is {ranges!r}, expected a list of pairs, such as [(340, 352)]."
        )
    checked = []
    for start, end in pairs:
        first = checked_int("without_steps", "the start of a range", start, 0)
        behind = checked_int("without_steps", "the end of a range", end, 0)
        if behind <= first:
            raise ValueError(
                f"without_steps: the range ({first}, {behind}) contains no step, because its end "
                "is excluded. Write the first step and the one after the last, such as "
                f"({first}, {first + 1})."
            )
        checked.append((first, behind))
    return checked
