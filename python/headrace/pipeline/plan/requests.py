"""What sources and steps ask of an unfinished plan, besides calls of functions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.core import engine
from headrace.pipeline.plan.cache_keys.keys import cache_key, with_companions
from headrace.pipeline.plan.function_planning import FunctionPlanning
from headrace.pipeline.stages.components import all_stages, is_on_disk, steps
from headrace.pipeline.stages.random_access import has_deferred_reads
from headrace.pipeline.stages.stage import Effect
from headrace.pipeline.values.types import Specs

__all__ = ["Requests"]


class Requests(FunctionPlanning):
    """The part of an unfinished plan that stages see; see `Planning` and `SourcePlanning`."""

    # The numbers of the first files and of the first contents of these stages.
    _first_files: tuple[int, int]
    _source_number: int
    # The number of combinations around these stages, up to the next cache.
    _depth: int
    _is_whole: bool

    # What a source asks for.

    @property
    def specs(self) -> Specs:
        """The components of an example of the source."""
        return self._specs[0]

    @property
    def resumed_mixture(self) -> list[Any] | None:
        """The position of a mixture that has changed since the state."""
        return self._shared.mix_checkpoint if self._is_whole else None

    def add_files(self, paths: Sequence[bytes]) -> None:
        """Notes the files that the source reads, in order."""
        self._shared.files.append(paths)

    def add_sightings(self, sightings: engine.Sightings) -> None:
        """Notes a record of which components occur."""
        self._shared.sightings.append(sightings)

    def measure(self, **facts: Any) -> None:
        """Changes what is noted of the source for its statistics; see `MeteredStage`."""
        counted = self._shared.counted
        counted[self._source_number] = replace(counted[self._source_number], **facts)

    def with_cache(self, plan: engine.Plan) -> engine.Plan:
        """Returns the plan of a source, with a cache of its remote files if one is wanted."""
        return plan if self._shared.cache is None else plan.cached(*self._shared.cache)

    # What a step asks for.

    @property
    def before(self) -> Specs:
        """The components before the step."""
        return self._specs[self.index - 1]

    @property
    def indexes(self) -> engine.IndexFiles:
        """The index files that are read and written."""
        return self._shared.indexes

    @property
    def is_covered(self) -> bool:
        """Whether a later stage skips examples at which the step fails."""
        return self.index < self._covered

    @property
    def is_learning(self) -> bool:
        """Whether components are learned, so that nothing is written."""
        return self._shared.is_learning

    def depth(self) -> int:
        """Returns the number of combinations around the stage, up to the next cache.

        The stages before a cache do not depend on the place of the cache.
        """
        behind = steps(self.chain)[self.index :]
        return 0 if any(step.effect is Effect.KEEPS for step in behind) else self._depth

    def sightings(self, where: str) -> engine.Sightings:
        """Returns a record of which of the components occur that an example may lack."""
        sightings = engine.Sightings(where)
        self.add_sightings(sightings)
        return sightings

    def skipping(self) -> tuple[Any, ...] | None:
        """Returns what the numbers of skipped examples depend on; None if nothing is skipped.

        These are the number of the stage, and all stages up to the last that skips failures.
        """
        chain = self._shared.chain
        inner = any(stage.judges_errors for part in chain[0].parts for stage in all_stages(part))
        end = max((n for n, stage in enumerate(chain, 1) if stage.judges_errors), default=inner)
        return (self.number, tuple(chain[:end])) if end else None

    def disk_cache(self, directory: str, most_bytes: int | None, key: str | None) -> engine.Plan:
        """Returns the plan with a cache on disk of the stages before the step."""
        is_off = self.is_learning
        first_files, first_contents = self._first_files
        contents = self._shared.contents[first_contents:]
        name = "" if is_off else cache_key(self.chain[: self.index], contents, self.number, key)
        paths = [path for paths in self._shared.files[first_files:] for path in paths]
        cache = engine.DiskCache(directory, most_bytes, name, with_companions(paths), is_off)
        self._shared.disk_caches.append(cache)
        return self.plan.cache_on_disk(cache)

    def shuffle_all(self, index: engine.Index, seed: int) -> engine.Plan:
        """Returns the plan with a shuffle of all examples."""
        if self.is_learning and is_on_disk(self.chain[: self.index]):
            # Nothing is written while components are learned, so the examples come as they are.
            return self.plan
        # Its records are read one by one, by all threads.
        self.measure(num_parallel=None)
        if self.is_covered or not has_deferred_reads(self.chain, self.index):
            return self.plan.shuffle_all(index, self.indexes, seed)
        plan, fetch = self.plan.shuffle_numbers(index, self.indexes, seed)
        self._waiting.insert(0, fetch.metered(self._source_number))
        return plan
