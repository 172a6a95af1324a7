"""`epochs`: several epochs, or endless ones."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.order_advice import warn_of_leaks
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
        """Repeats everything before it `count` times, or without end.

        An epoch may yield nothing, for example because a `filter` on random draws keeps no example.
        The other epochs still follow.

        Args:
            count: The number of epochs, from 0. None repeats without end, unless 100 epochs in a
                row yield nothing: then the source counts as empty, and the iteration ends.

        Raises:
            ValueError: If `count` is negative.
        """
        chosen = None if count is None else checked_int("epochs", "count", count, 0)
        if chosen is None or chosen > 1:
            warn_of_leaks(self._stages)
        return self._then(Epochs(chosen))
