"""Pipelines one after the other."""

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
    """Pipelines one after the other, each as its stages."""

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "concat"

    @property
    def obstacle(self) -> str | None:
        """Why there is no random access to its examples; None if there is."""
        obstacles = (obstacle(part, is_part=True) for part in self.parts)
        return next((text for text in obstacles if text is not None), None)

    @property
    def is_reordered(self) -> bool:
        """Whether a shuffle after it permutes examples of files."""
        return all(map(is_reordered, self.parts))

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns what a window after it may read in another order, as text."""
        return [name for part in self.parts for name in pieces_before(part, block_bytes)]

    def combined_length(self, lengths: Callable[[Sequence[Stages]], Iterator[float]]) -> float:
        """Returns the number of examples of all parts."""
        return sum(lengths(self.parts))

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan of the parts, one after the other."""
        return engine.Plan.concat(planning.part_plans())


def concat(pipelines: Iterable[Chain]) -> Concat:
    """Yields the examples of several pipelines one after the other.

    Args:
        pipelines: The pipelines, at least one, all with the same components.

    Raises:
        TypeError: If an item is not a pipeline.
        ValueError: If there are no pipelines, or their components differ. If a function determines
            the components, the difference is an error during the iteration.

    Examples:
        >>> pipe = hr.concat([hr.arrays({"x": [1, 2]}), hr.arrays({"x": [3]})])
        >>> [int(example["x"]) for example in pipe]
        [1, 2, 3]
    """
    parts = parts_of("concat", pipelines)
    check_alike("concat", parts)
    return Concat(parts)
