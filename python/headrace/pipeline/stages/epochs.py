"""`epochs`: repeats the data for several epochs, or endlessly."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import check_not_growing
from headrace.pipeline.stages.order_warnings import warn_of_leaks
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["Epochs", "EpochsMethod"]


@dataclass(frozen=True)
class Epochs(KeepsComponents):
    """Repeats the data for `count` epochs, or endlessly for None."""

    count: int | None

    effect: ClassVar = Effect.REPEATS
    needs_values: ClassVar = False
    added_axes: ClassVar = 0

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        if self.count is None:
            return math.inf if length else 0
        return length * self.count if self.count else 0

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.plan = planning.plan.epochs(self.count)


class EpochsMethod(Chain):
    """The method `epochs`."""

    __slots__ = ()

    def epochs(self, count: int | None = None) -> Self:
        """Repeats the stages before it `count` times, or endlessly.

        If there is a shuffle, each epoch has a different order. An epoch can be empty, for example
        if a random `filter` drops every example. The next epoch still follows.

        Args:
            count: The number of epochs, at least 0. None repeats endlessly, but the iteration ends
                after 100 empty epochs in a row.

        Raises:
            ValueError: If `count` is negative, or the source is a journal, which yields each row
                once.

        Examples:
            >>> [int(example["x"]) for example in hr.arrays({"x": [1, 2]}).epochs(2)]
            [1, 2, 1, 2]
        """
        chosen = None if count is None else checked_int("epochs", "count", count, 0)
        check_not_growing("epochs", self._stages)
        if chosen is None or chosen > 1:
            warn_of_leaks(self._stages)
        return self._then(Epochs(chosen))
