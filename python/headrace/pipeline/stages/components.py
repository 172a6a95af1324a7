"""The components after each stage, as far as they are known without running anything."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from headrace.pipeline.functions.cached_probe_results import CachedProbeResults
from headrace.pipeline.stages.source import Source
from headrace.pipeline.stages.stage import Effect, Stage, Step
from headrace.pipeline.values.types import Specs

__all__ = [
    "ChainSpecs",
    "all_sources",
    "all_stages",
    "all_steps",
    "batch_depth",
    "has_epochs",
    "is_on_disk",
    "known_names",
    "num_cached",
    "source_of",
    "specs_from",
    "static_specs",
    "steps",
]


@dataclass(frozen=True)
class ChainSpecs:
    """The components after each stage, also in the pipelines that a source combines.

    Attributes:
        specs: The components after each stage.
        parts: The components of the pipelines that the source combines.
        empty_at: The number of the stage that had no example to learn from: components after it are
            unknown, and there are no examples. None if all are known.
        first: The results of functions for the first examples, for the next iteration.
    """

    specs: list[Specs]
    parts: "list[ChainSpecs]"
    first_empty_stage: int | None = None
    first: list[CachedProbeResults] = field(default_factory=list, compare=False)

    def first_of(self, stage: Stage) -> CachedProbeResults:
        """Returns the results of a stage's function for the first examples."""
        results = next((first for first in self.first if first.of is stage), None)
        if results is None:
            results = CachedProbeResults(stage)
            self.first.append(results)
        return results

    def forget(self, chain: Sequence[Stage], is_cached: bool = False) -> None:
        """Forgets the results of functions, which may change before the next iteration.

        Functions before a cache are called once for each example, so their results are kept.

        Args:
            chain: The stages.
            is_cached: Whether a cache follows them.
        """
        cached = len(chain) if is_cached else num_cached(chain)
        for index, stage in enumerate(chain):
            for first in self.first:
                if first.of is stage:
                    first.forget(index < cached)
        for part, specs in zip(chain[0].parts, self.parts, strict=True):
            specs.forget(part, cached > 0)

    @property
    def is_whole(self) -> bool:
        """True if the components are known everywhere, also in all parts."""
        return self.first_empty_stage is None and all(part.is_whole for part in self.parts)


def steps(chain: Sequence[Stage]) -> Sequence[Step]:
    """Returns the stages after the source."""
    return cast("Sequence[Step]", chain[1:])


def source_of(chain: Sequence[Stage]) -> Source:
    """Returns the source, which is the first stage."""
    return cast("Source", chain[0])


def all_stages(chain: Sequence[Stage]) -> Iterator[Stage]:
    """Yields all stages, those of combined pipelines first."""
    for part in chain[0].parts:
        yield from all_stages(part)
    yield from chain


def all_steps(chain: Sequence[Stage]) -> Iterator[Step]:
    """Yields all steps, those of combined pipelines first."""
    for part in chain[0].parts:
        yield from all_steps(part)
    yield from steps(chain)


def all_sources(chain: Sequence[Stage]) -> Iterator[Source]:
    """Yields all sources, those of combined pipelines before the combination."""
    for part in chain[0].parts:
        yield from all_sources(part)
    yield source_of(chain)


def num_cached(chain: Sequence[Stage]) -> int:
    """Returns how many stages are before the last cache."""
    caches = (n for n, step in enumerate(steps(chain), 1) if step.effect is Effect.KEEPS)
    return max(caches, default=0)


def has_epochs(chain: Sequence[Stage]) -> bool:
    """Returns whether a pipeline gives examples of several epochs."""
    return any(step.effect is Effect.REPEATS for step in steps(chain)) or any(
        map(has_epochs, chain[0].parts)
    )


def is_on_disk(chain: Sequence[Stage]) -> bool:
    """Returns whether examples of a pipeline, or of a part of it, are kept on disk."""
    return any(step.keeps_on_disk for step in all_steps(chain))


def batch_depth(chain: Sequence[Stage]) -> int:
    """Returns the number of leading axes that batches have added."""
    parts = chain[0].parts
    depth = batch_depth(parts[0]) if parts else 0
    for step in steps(chain):
        # A leading axis of the example's own does not make a batch.
        depth = max(depth + step.added_axes, 0)
    return depth


def static_specs(chain: Sequence[Stage]) -> Specs | None:
    """Returns the components after all stages; None after a Python function."""
    return specs_from(source_of(chain).spec, chain)


def specs_from(specs: Specs | None, chain: Sequence[Stage]) -> Specs | None:
    """Returns the components after all stages, from those of the source; None if unknown."""
    for step in steps(chain):
        if specs is None:
            return None
        specs = step.specs_after(specs)
    return specs


def known_names(chain: Sequence[Stage]) -> tuple[str, ...] | None:
    """Returns the names of the components after all stages, as far as they are known.

    After a Python function the types of components are unknown, but a later `select` tells their
    names, until the next function.
    """
    source = source_of(chain)
    specs, names = source.spec, source.names
    for step in steps(chain):
        specs = None if specs is None else step.specs_after(specs)
        names = step.names_after(names) if specs is None else tuple(specs)
    return names
