"""The share of one reader, where several readers divide the batches of a pipeline."""

from dataclasses import dataclass, field
from typing import ClassVar

from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["Share"]


@dataclass(frozen=True)
class Share(KeepsComponents):
    """Every `count`-th run of examples, from run `index` on.

    See `headrace.pipeline.run.reader_shards`.

    Attributes:
        run: The number of examples in a run: as many as form a batch.
        index: The number of its run among `count`, counted from the beginning or the resume.
        count: The number of shares. A state of one share serves all shares, also another number
            of them.
    """

    run: int
    index: int = field(compare=False, repr=False)
    count: int = field(compare=False, repr=False)

    effect: ClassVar = Effect.SHARES
    needs_values: ClassVar = False
    added_axes: ClassVar = 0

    @property
    def num_shares(self) -> int:
        """The number of readers of which each keeps a share."""
        return self.count

    def length_after(self, length: float) -> None:
        """Returns None: nobody asks for the length of a share."""

    def plan_into(self, planning: Planning) -> None:
        """Adds its work to a plan."""
        planning.turn = (self.index, self.count)
        planning.plan = planning.plan.share(self.index, self.count, self.run)
