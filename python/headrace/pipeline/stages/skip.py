"""`skip`: drops the first examples."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["Skip", "SkipMethod"]


@dataclass(frozen=True)
class Skip(KeepsComponents):
    """Drops the first `count` examples."""

    count: int

    effect: ClassVar = Effect.OMITS
    needs_values: ClassVar = False
    added_axes: ClassVar = 0

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return max(length - self.count, 0)

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.plan = planning.plan.skip(self.count)


class SkipMethod(Chain):
    """The method `skip`."""

    __slots__ = ()

    def skip(self, count: int) -> Self:
        """Skips the first `count` examples (or batches, after `batch`).

        Args:
            count: The number to skip, at least 0.

        Raises:
            ValueError: If `count` is negative.

        Examples:
            >>> [int(example["x"]) for example in hr.arrays({"x": range(5)}).skip(3)]
            [3, 4]
        """
        return self._then(Skip(checked_int("skip", "count", count, 0)))
