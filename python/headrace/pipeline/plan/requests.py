"""Requests that sources and steps make to a plan under construction, except function calls."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.core import engine
from headrace.pipeline.plan.function_planning import FunctionPlanning
from headrace.pipeline.stages.components import all_stages, all_steps, is_on_disk, steps
from headrace.pipeline.stages.random_access import has_deferred_reads
from headrace.pipeline.stages.stage import Effect
from headrace.pipeline.stages.windows import Windows
from headrace.pipeline.values.types import Specs

__all__ = ["Requests"]


class Requests(FunctionPlanning):
    """The part of a plan that stages can access; see `Planning` and `SourcePlanning`."""

    # Where the files and contents of these stages start in the shared lists.
    _first_files: tuple[int, int]
    _source_number: int
    # How many levels of combined pipelines enclose these stages, up to the next cache.
    _depth: int
    _is_whole: bool

    # For sources:

    @property
    def specs(self) -> Specs:
        """The components of the source's examples."""
        return self._specs[0]

    @property
    def resumed_mixture(self) -> list[Any] | None:
        """The saved position of a mix that has changed since then."""
        return self._shared.mix_checkpoint if self._is_whole else None

    def add_files(self, paths: Sequence[bytes]) -> None:
        """Records the files that the source reads, in order."""
        self._shared.files.append(paths)

    def add_seen_components(self, seen_components: engine.SeenComponents) -> None:
        """Adds a record of which optional components occur."""
        self._shared.seen_components.append(seen_components)

    def measure(self, **facts: Any) -> None:
        """Updates the source's entry in the statistics; see `MeteredStage`."""
        counted = self._shared.counted
        counted[self._source_number] = replace(counted[self._source_number], **facts)

    def with_cache(self, plan: engine.Plan) -> engine.Plan:
        """Returns the source's plan, with a cache for its remote files if one is configured."""
        return plan if self._shared.cache is None else plan.cached(*self._shared.cache)

    # For steps:

    @property
    def before(self) -> Specs:
        """The components before the step."""
        return self._specs[self.index - 1]

    @property
    def indexes(self) -> engine.IndexFiles:
        """The index files to read and write."""
        return self._shared.indexes

    @property
    def has_error_skipper(self) -> bool:
        """Whether a later stage skips the examples for which this step fails."""
        return self.index < self._skipper_index

    @property
    def is_learning(self) -> bool:
        """Whether this plan only learns components. Nothing is then written."""
        return self._shared.is_learning

    def depth(self) -> int:
        """Returns how many levels of combined pipelines enclose the stage, up to the next cache.

        Stages before a cache do not depend on where the cache is.
        """
        behind = steps(self.chain)[self.index :]
        return 0 if any(step.effect is Effect.KEEPS for step in behind) else self._depth

    def seen_components(self, where: str) -> engine.SeenComponents:
        """Returns a record of which optional components have occurred so far."""
        seen_components = engine.SeenComponents(where)
        self.add_seen_components(seen_components)
        return seen_components

    def skipping(self) -> tuple[Any, ...] | None:
        """Returns a key for the counts of skipped examples, or None if nothing is skipped.

        It consists of the stage's number and all stages up to the last `skip_errors`.
        """
        chain = self._shared.chain
        inner = any(stage.judges_errors for part in chain[0].parts for stage in all_stages(part))
        end = max((n for n, stage in enumerate(chain, 1) if stage.judges_errors), default=inner)
        return (self.number, tuple(chain[:end])) if end else None

    def disk_cache(self, directory: str, most_bytes: int | None, key: str | None) -> engine.Plan:
        """Returns the plan with a disk cache for the stages before this step."""
        # This is loaded only if there is a disk cache.
        from headrace.pipeline.plan.cache_keys.keys import (  # noqa: PLC0415
            cache_key,
            with_companions,
        )

        is_off = self.is_learning
        first_files, first_contents = self._first_files
        contents = self._shared.contents[first_contents:]
        name = "" if is_off else cache_key(self.chain[: self.index], contents, self.number, key)
        paths = [path for paths in self._shared.files[first_files:] for path in paths]
        cache = engine.DiskCache(directory, most_bytes, name, with_companions(paths), is_off)
        self._shared.disk_caches.append(cache)
        return self.plan.cache_on_disk(cache)

    def depend_on(self, name: str, digest: str) -> None:
        """Adds content that the examples depend on, besides the files of the sources."""
        self._shared.contents.append((name, digest))

    def shuffle_all(
        self, index: engine.Index, seed: int, sampling: engine.Sampling | None = None
    ) -> engine.Plan:
        """Returns the plan with a full shuffle added, or with draws if there is a sampling."""
        if self.is_learning and is_on_disk(self.chain[: self.index]):
            # Nothing is written while components are learned, so the examples keep their order.
            return self.plan
        for step in all_steps(self.chain[: self.index]):
            if isinstance(step, Windows) and step.episodes.ranges is not None:
                self.depend_on(f"windows(within={step.within!r})", step.episodes.digest)
        # Single records are then read by all threads.
        self.measure(num_parallel=None)
        if self.has_error_skipper or not has_deferred_reads(self.chain, self.index):
            return self.plan.shuffle_all(index, self.indexes, seed, sampling)
        plan, fetch = self.plan.shuffle_numbers(index, self.indexes, seed, sampling)
        self._waiting.insert(0, fetch.metered(self._source_number))
        return plan
