"""The components after each stage, if they are known before anything runs."""

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
    """The components after each stage, including those of combined pipelines.

    Attributes:
        specs: The components after each stage.
        parts: The same information for each pipeline that the source combines.
        first_empty_stage: The index of the first stage that had no example to learn from. The
            components after it are unknown, and the pipeline is empty. None if all are known.
        first: The function results for the first examples, kept for the next iteration.
    """

    specs: list[Specs]
    parts: "list[ChainSpecs]"
    first_empty_stage: int | None = None
    first: list[CachedProbeResults] = field(default_factory=list, compare=False)

    def first_of(self, stage: Stage) -> CachedProbeResults:
        """Returns the results of the stage's function for the first examples."""
        results = next((first for first in self.first if first.of is stage), None)
        if results is None:
            results = CachedProbeResults(stage)
            self.first.append(results)
        return results

    def forget(self, chain: Sequence[Stage], is_cached: bool = False) -> None:
        """Discards function results, because the functions may change before the next iteration.

        Functions before a cache run only once per example, so their results are kept.

        Args:
            chain: The stages.
            is_cached: Whether a cache follows these stages.
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
        """Whether all components are known, including those of combined pipelines."""
        return self.first_empty_stage is None and all(part.is_whole for part in self.parts)


def steps(chain: Sequence[Stage]) -> Sequence[Step]:
    """Returns the stages after the source."""
    return cast("Sequence[Step]", chain[1:])


def source_of(chain: Sequence[Stage]) -> Source:
    """Returns the source (the first stage)."""
    return cast("Source", chain[0])


def all_stages(chain: Sequence[Stage]) -> Iterator[Stage]:
    """Yields all stages, starting with those of combined pipelines."""
    for part in chain[0].parts:
        yield from all_stages(part)
    yield from chain


def all_steps(chain: Sequence[Stage]) -> Iterator[Step]:
    """Yields all steps, starting with those of combined pipelines."""
    for part in chain[0].parts:
        yield from all_steps(part)
    yield from steps(chain)


def all_sources(chain: Sequence[Stage]) -> Iterator[Source]:
    """Yields all sources. Combined pipelines come before the source that combines them."""
    for part in chain[0].parts:
        yield from all_sources(part)
    yield source_of(chain)


def num_cached(chain: Sequence[Stage]) -> int:
    """Returns the number of stages before the last cache."""
    caches = (n for n, step in enumerate(steps(chain), 1) if step.effect is Effect.KEEPS)
    return max(caches, default=0)


def has_epochs(chain: Sequence[Stage]) -> bool:
    """Returns whether a pipeline produces several epochs."""
    return any(step.effect is Effect.REPEATS for step in steps(chain)) or any(
        map(has_epochs, chain[0].parts)
    )


def is_on_disk(chain: Sequence[Stage]) -> bool:
    """Returns whether the pipeline or one of its parts stores examples on disk."""
    return any(step.keeps_on_disk for step in all_steps(chain))


def batch_depth(chain: Sequence[Stage]) -> int:
    """Returns the number of leading axes that batching has added."""
    parts = chain[0].parts
    depth = batch_depth(parts[0]) if parts else 0
    for step in steps(chain):
        # Removing a leading axis that examples already had does not count.
        depth = max(depth + step.added_axes, 0)
    return depth


def check_not_growing(where: str, chain: Sequence[Stage]) -> None:
    """Raises ValueError if a pipeline reads a journal. Journal rows cannot be repeated.

    Args:
        where: The stage that follows.
        chain: The stages before it.
    """
    for stage in all_stages(chain):
        if stage.is_growing:
            raise ValueError(
                f"{where}: {stage.name} yields each row once, while other processes may still be "
                "appending rows. To repeat them, write the examples to files with write(...) and "
                "read those."
            )


def static_specs(chain: Sequence[Stage]) -> Specs | None:
    """Returns the components after all stages, or None if a Python function makes them unknown."""
    return specs_from(source_of(chain).spec, chain)


def specs_from(specs: Specs | None, chain: Sequence[Stage]) -> Specs | None:
    """Returns the components after all stages, given the source's, or None if they are unknown."""
    for step in steps(chain):
        if specs is None:
            return None
        specs = step.specs_after(specs)
    return specs


def known_names(chain: Sequence[Stage]) -> tuple[str, ...] | None:
    """Returns the component names after all stages, if they are known.

    A Python function makes the component types unknown. A later `select` determines the names, but
    only up to the next function.
    """
    source = source_of(chain)
    specs, names = source.spec, source.names
    for step in steps(chain):
        specs = None if specs is None else step.specs_after(specs)
        names = step.names_after(names) if specs is None else tuple(specs)
    return names
