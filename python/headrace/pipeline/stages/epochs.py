"""`epochs`: several epochs, or endless ones."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.order_warnings import warn_of_leaks
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["Epochs", "EpochsMethod"]


@dataclass(frozen=True)
class Epochs(KeepsComponents):
    """Several epochs; without end if `count` is None."""

    count: int | None

    effect: ClassVar = Effect.REPEATS
    needs_values: ClassVar = False
    added_axes: ClassVar = 0

    def length_after(self, length: float) -> float:
        """Returns how many examples come out of it."""
        if self.count is None:
            return math.inf if length else 0
        return length * self.count if self.count else 0

    def plan_into(self, planning: Planning) -> None:
        """Adds its work to a plan."""
        planning.plan = planning.plan.epochs(self.count)


class EpochsMethod(Chain):
    """The method `epochs`."""

    __slots__ = ()

    def epochs(self, count: int | None = None) -> Self:
        """Repeats the stages before it `count` times, or endlessly.

        Each epoch has a different order if there is a shuffle. An epoch may be empty, for example
        because a random `filter` drops every example; the next epoch still follows.

        Args:
            count: The number of epochs, at least 0. None repeats endlessly. In that case, the
                iteration ends after 100 empty epochs in a row.

        Raises:
            ValueError: If `count` is negative.

        Examples:
            >>> [int(example["x"]) for example in hr.arrays({"x": [1, 2]}).epochs(2)]
            [1, 2, 1, 2]
        """
        chosen = None if count is None else checked_int("epochs", "count", count, 0)
        if chosen is None or chosen > 1:
            warn_of_leaks(self._stages)
        return self._then(Epochs(chosen))
