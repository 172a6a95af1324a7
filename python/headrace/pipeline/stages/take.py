"""`take`: keeps the first examples."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["Take", "TakeMethod"]


@dataclass(frozen=True)
class Take(KeepsComponents):
    """Keeps the first `count` examples."""

    count: int

    effect: ClassVar = Effect.TAKES
    needs_values: ClassVar = False
    added_axes: ClassVar = 0

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return min(length, self.count)

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.plan = planning.plan.take(self.count)


class TakeMethod(Chain):
    """The method `take`."""

    __slots__ = ()

    def take(self, count: int) -> Self:
        """Keeps only the first `count` examples (or batches, after `batch`).

        Args:
            count: The number to keep, at least 0.

        Raises:
            ValueError: If `count` is negative.

        Examples:
            >>> [int(example["x"]) for example in hr.arrays({"x": range(5)}).take(2)]
            [0, 1]
        """
        return self._then(Take(checked_int("take", "count", count, 0)))
