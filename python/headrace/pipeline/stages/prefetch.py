"""`prefetch`: the number of batches to prepare in advance."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["Prefetch", "PrefetchMethod"]


@dataclass(frozen=True)
class Prefetch(KeepsComponents):
    """The number of batches to prepare in advance."""

    count: int

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = False
    added_axes: ClassVar = 0
    described_by: ClassVar = None  # Omitted from states, so it may change.

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Sets the number of results that may wait for the consumer."""
        planning.num_ready = self.count


class PrefetchMethod(Chain):
    """The method `prefetch`."""

    __slots__ = ()

    def prefetch(self, count: int) -> Self:
        """Prepares up to `count` batches ahead of your loop.

        Without this stage, pipelines prepare 2 batches ahead.

        Args:
            count: The maximum number of prepared batches, at least 1.

        Raises:
            ValueError: If `count` is below 1.

        Examples:
            >>> pipe = hr.arrays({"x": range(4)}).batch(2).prefetch(8)
            >>> [batch["x"].tolist() for batch in pipe]
            [[0, 1], [2, 3]]
        """
        return self._then(Prefetch(checked_int("prefetch", "count", count, 1)))
