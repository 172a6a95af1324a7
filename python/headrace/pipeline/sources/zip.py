"""`zip`: pipelines side by side."""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.core import engine
from headrace.pipeline.sources.combination import Combination, parts_of
from headrace.pipeline.stages.arguments import check_bool
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth, known_names, static_specs
from headrace.pipeline.stages.random_access import obstacle
from headrace.pipeline.stages.rename import Rename
from headrace.pipeline.stages.source import SourcePlanning
from headrace.pipeline.stages.stage import Stages
from headrace.pipeline.values.types import Specs

__all__ = ["Zip", "zip"]


@dataclass(frozen=True)
class Zip(Combination):
    """The examples of several pipelines, side by side."""

    strict: bool = True

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "zip"

    @property
    def names(self) -> tuple[str, ...] | None:
        """The component names, or None if those of a part are unknown."""
        parts = [known_names(part) for part in self.parts]
        known_names_of_parts = [names for names in parts if names is not None]
        if len(known_names_of_parts) < len(parts):
            return None
        return tuple(name for names in known_names_of_parts for name in names)

    def combined(self, specs: Sequence[Specs]) -> Specs:
        """Returns the components of all parts.

        Raises:
            ValueError: If two parts have a component of the same name.
        """
        return zipped(specs)

    def combined_of(self, specs_of_parts: Sequence[Specs]) -> Specs | None:
        """Returns the components of all parts, or None if a part has no examples."""
        return zipped(specs_of_parts) if len(specs_of_parts) == len(self.parts) else None

    @property
    def obstacle(self) -> str | None:
        """The reason why examples cannot be accessed at random, or None if they can."""
        obstacles = (obstacle(part, is_part=True) for part in self.parts)
        return next((text for text in obstacles if text is not None), None)

    @property
    def is_reordered(self) -> bool:
        """False, because the parts keep their order so that matching examples stay together."""
        return False

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns an empty list, because the parts keep their order."""
        return []

    def combined_length(self, lengths: Callable[[Sequence[Stages]], Iterator[float]]) -> float:
        """Returns the number of examples in the shortest part."""
        return min(lengths(self.parts))

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that reads the parts side by side."""
        return engine.Plan.zip(planning.part_plans(), self.strict)


def zip(pipelines: Iterable[Chain] | Mapping[str, Chain], strict: bool = True) -> Zip:
    """Combines several pipelines: example n has the components of the n-th example of each.

    If you pass a dict, its keys become part of the names: a component `image` under the key `a` is
    named `a.image`. So you can combine a pipeline with other shuffles of itself, for example for
    `headrace.ops.mosaic`.

    If `skip_errors` follows and a function fails in one pipeline, the whole combined example is
    skipped. Failures before a stage that changes the number or order of examples are always raised,
    because the matching examples are unknown.

    Args:
        pipelines: At least one pipeline, whose components need different names. Or a dict from keys
            to pipelines, whose component names must be known.
        strict: If True, pipelines of different lengths raise an error when the shortest one ends.
            If False, the iteration ends there.

    Raises:
        TypeError: If an item is not a pipeline, or a key is not a string.
        ValueError: If no pipelines are given, some yield batches and others examples, or two of
            them have a component of the same name. For a dict, also if the component names of a
            pipeline are unknown.

    Examples:
        >>> images, labels = hr.arrays({"image": [10, 20]}), hr.arrays({"label": [0, 1]})
        >>> next(iter(hr.zip([images, labels]).batch(2)))
        {'image': array([10, 20]), 'label': array([0, 1])}
        >>> numbers = hr.arrays({"n": range(4)})
        >>> pairs = hr.zip({"a": numbers.shuffle(seed=1), "b": numbers.shuffle(seed=2)})
        >>> list(next(iter(pairs)))
        ['a.n', 'b.n']
    """
    if isinstance(pipelines, Mapping):
        keys, parts = list(pipelines), parts_of("zip", pipelines.values())
        parts = tuple(_prefixed(key, part) for key, part in builtins.zip(keys, parts, strict=True))
    else:
        parts = parts_of("zip", pipelines)
    depths = {batch_depth(part) for part in parts}
    if len(depths) > 1:
        raise ValueError(
            "zip: some pipelines yield batches and others examples. Call batch(...) in all of "
            "them, or in none."
        )
    check_bool("zip", "strict", strict)
    zipped([specs for part in parts if (specs := static_specs(part)) is not None])
    return Zip(parts, strict)


def _prefixed(key: object, part: Stages) -> Stages:
    """Returns a pipeline whose component names begin with a key and a dot."""
    if not isinstance(key, str):
        raise TypeError(f"zip: the key {key!r} is not a string.")
    names = known_names(part)
    if names is None:
        raise ValueError(
            f"zip: the component names of the pipeline {key!r} are unknown until it is read. Call "
            "select(...) in it, or pass a list of pipelines."
        )
    return (*part, Rename(tuple((name, f"{key}.{name}") for name in names)))


def zipped(parts: Sequence[Specs]) -> Specs:
    """Returns the components of all pipelines together.

    Raises:
        ValueError: If two pipelines have a component of the same name.
    """
    specs: Specs = {}
    for part in parts:
        for name in part:
            if name in specs:
                raise ValueError(
                    f"zip: two pipelines have a component {name!r}. Rename one of them with "
                    "rename(...)."
                )
        specs.update(part)
    return specs
