"""One reader's share, when several readers divide a pipeline's batches."""

from dataclasses import dataclass, field
from typing import ClassVar

from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning

__all__ = ["Share"]


@dataclass(frozen=True)
class Share(KeepsComponents):
    """Keeps every `count`-th run of examples, starting at run `index`.

    See `headrace.pipeline.run.reader_shards`.

    Attributes:
        run: The number of examples in a run. This is the batch size.
        index: The index of the first run among `count`, counted from the start or the resume
            position.
        count: The number of shares. A state of one share can be used by all shares, even if their
            number changes.
    """

    run: int
    index: int = field(compare=False, repr=False)
    count: int = field(compare=False, repr=False)

    effect: ClassVar = Effect.SHARES
    needs_values: ClassVar = False
    added_axes: ClassVar = 0

    @property
    def num_shares(self) -> int:
        """The number of readers that the examples are divided among."""
        return self.count

    def length_after(self, length: float) -> None:
        """Returns None, because the length of a share is never needed."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.turn = (self.index, self.count)
        planning.plan = planning.plan.share(self.index, self.count, self.run)
