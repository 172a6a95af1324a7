"""`concat`: pipelines one after the other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from headrace.core import engine
from headrace.pipeline.sources.combination import Combination, check_alike, parts_of
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.random_access import is_reordered, obstacle, pieces_before
from headrace.pipeline.stages.source import SourcePlanning
from headrace.pipeline.stages.stage import Stages

__all__ = ["Concat", "concat"]


@dataclass(frozen=True)
class Concat(Combination):
    """The examples of several pipelines, one after the other."""

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "concat"

    @property
    def obstacle(self) -> str | None:
        """The reason why examples cannot be accessed at random, or None if they can."""
        obstacles = (obstacle(part, is_part=True) for part in self.parts)
        return next((text for text in obstacles if text is not None), None)

    @property
    def is_reordered(self) -> bool:
        """Whether a following shuffle changes the order of examples from files."""
        return all(map(is_reordered, self.parts))

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Names the pieces that a following window may reorder. Empty if there are none."""
        return [name for part in self.parts for name in pieces_before(part, block_bytes)]

    def combined_length(self, lengths: Callable[[Sequence[Stages]], Iterator[float]]) -> float:
        """Returns the total number of examples."""
        return sum(lengths(self.parts))

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that reads the parts one after the other."""
        return engine.Plan.concat(planning.part_plans())


def concat(pipelines: Iterable[Chain]) -> Concat:
    """Yields the examples of several pipelines, one pipeline after the other.

    Args:
        pipelines: At least one pipeline. All need the same components.

    Raises:
        TypeError: If an item is not a pipeline.
        ValueError: If no pipelines are given, or their components differ. If a function determines
            the components, the error is raised during the iteration instead.

    Examples:
        >>> pipe = hr.concat([hr.arrays({"x": [1, 2]}), hr.arrays({"x": [3]})])
        >>> [int(example["x"]) for example in pipe]
        [1, 2, 3]
    """
    parts = parts_of("concat", pipelines)
    check_alike("concat", parts)
    return Concat(parts)
