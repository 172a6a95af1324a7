"""`cache`: keeps examples in memory or on disk."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

from headrace.core import engine
from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.stages.arguments import checked_directory, checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import check_not_growing, has_epochs
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning, Stage, named

__all__ = ["Cache", "CacheMethod"]


class CachedExamples:
    """The examples that a cache keeps in memory.

    Skipped examples are recorded by stage number. Pipelines that skip errors therefore share a
    cache only if their stages are the same up to the last `skip_errors`.
    """

    def __init__(self) -> None:
        self._caches: list[tuple[object, engine.Cache]] = []

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return CachedExamples, ()

    def of(self, skipping: object) -> engine.Cache:
        """Returns the cached examples for pipelines that skip errors in the same way.

        Args:
            skipping: The result of `Planning.skipping`.
        """
        for other, cache in self._caches:
            if other == skipping:
                return cache
        self._caches.append((skipping, cache := engine.Cache()))
        return cache


@dataclass(frozen=True)
class Cache(KeepsComponents):
    """Keeps examples in memory or on disk.

    Attributes:
        directory: The directory for cache files, or None to use memory.
        bytes: The maximum size of all caches in the directory, or None for no limit.
        key: A string that replaces the comparison of the functions' code, or None to compare the
            code.
        kept: The examples of earlier passes, in memory. All pipelines made from this stage share
            them, unless they skip errors differently.
    """

    directory: str | None = named(None)
    bytes: int | None = named(None)
    key: str | None = named(None)
    kept: CachedExamples = field(default_factory=CachedExamples, compare=False, repr=False)

    effect: ClassVar = Effect.KEEPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    @property
    def keeps_on_disk(self) -> bool:
        """Whether the cache stores examples on disk."""
        return self.directory is not None

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        # Whole blocks are cached, so the deferred work, which may remove rows, must be done first.
        planning.finish_waiting()
        planning.finish_rows()
        if self.directory is None:
            planning.plan = planning.plan.cache(self.kept.of(planning.skipping()))
        else:
            planning.plan = planning.disk_cache(self.directory, self.bytes, self.key)


class CacheMethod(Chain):
    """The method `cache`."""

    __slots__ = ()

    def cache(
        self,
        directory: str | os.PathLike[str] | None = None,
        bytes: int | None = None,
        key: str | None = None,
    ) -> Self:
        """Keeps all examples in memory or on disk, so that the stages before it run only once.

        Later passes read the cached examples. The stages before `cache` always run as in epoch 0,
        so their shuffles and random draws are the same in every epoch. Stages after `cache` still
        vary between epochs.

        **In memory**: the examples count towards `memory_bytes`. They are freed together with this
        pipeline and all pipelines made from it. If you leave a pass early, the next pass continues
        filling the cache where the first one stopped. If two iterations run at the same time before
        the cache is full, each computes the examples itself.

        **On disk**, with `directory`: later programs read the same cache file. It is reused only if
        nothing that the examples depend on has changed: the earlier stages, the code of their
        functions and the values that the functions use, and the name, size and modification time
        (or ETag) of each file. For installed packages, only the version counts. If a function looks
        up names at run time, every source file that its module imports counts. A file that your
        function opens itself is not checked. Pass `key` to decide yourself when the code has
        changed.

        A pass that you leave early stores nothing. If several processes need the same cache, one of
        them writes it. Killing a process leaves no partial cache, and a damaged file is removed and
        rebuilt. If the examples can't be stored, the logger `headrace.pipeline` warns and names the
        reason, but the batches are the same. Only data that is being read or written counts towards
        `memory_bytes`. Small `*.hrspecs` files next to the cache store the components of function
        results, so that a complete cache calls none of the functions before it.

        If a `skip_errors` before the cache skips examples, the cache also records them as skipped.
        If a failure may be temporary, such as running out of memory, nothing is stored.

        If a function uses an object that cannot be compared between programs, such as a lock,
        iterating raises an error unless you pass `key`.

        Args:
            directory: A local directory, which is created if necessary. None to use memory.
            bytes: The maximum size of all caches in the directory, at least 1. The least recently
                used caches are removed to make room. Examples that need more space than this are
                not stored. None for no limit.
            key: A version string, such as "v3", to compare instead of the functions' code. Change
                it whenever the functions' results change. None compares the code.

        Raises:
            TypeError: If `directory` is not a path, `bytes` is not an int, or `key` is not a
                string.
            ValueError: If the cache follows `epochs` or a journal, `directory` is a URL, or `bytes`
                or `key` is set without a directory. With a directory, also if a later program could
                not verify that the examples are the same: after `iterable` or `indexed`, after a
                shuffle or mix without a seed, or after a function with a state.

        Examples:
            >>> def load(example):
            ...     print("loading")
            ...     return {"y": 2 * example["x"]}
            >>> pipe = hr.arrays({"x": [1, 2]}).map(load).cache()
            >>> [int(example["y"]) for example in pipe]
            loading
            loading
            [2, 4]
            >>> [int(example["y"]) for example in pipe]
            [2, 4]
        """
        if has_epochs(self._stages):
            raise ValueError(
                "cache: cannot come after epochs, because it would store every epoch. Write "
                "cache() before epochs(...)."
            )
        check_not_growing("cache", self._stages)
        if directory is None:
            if bytes is not None:
                raise ValueError(
                    "cache: bytes is set, but directory is not. Pass directory=..., or remove "
                    "bytes."
                )
            if key is not None:
                raise ValueError(
                    "cache: key is set, but directory is not. Pass directory=..., or remove key."
                )
            return self._then(Cache())
        path = os.path.abspath(checked_directory(directory, "directory", "cache"))
        most = None if bytes is None else checked_int("cache", "bytes", bytes, 1)
        if key is not None and not isinstance(key, str):
            raise TypeError(f"cache: key is {key!r}, expected a string, such as 'v3'.")
        _check_can_be_on_disk(self._stages)
        return self._then(Cache(path, most, key))


def _check_can_be_on_disk(chain: Sequence[Stage]) -> None:
    """Raises ValueError if a later program could not verify that cached examples are still valid.

    Args:
        chain: The stages before the cache.
    """
    for stage in chain:
        for part in stage.parts:
            _check_can_be_on_disk(part)
        if stage.reads_objects:
            raise ValueError(
                f"cache: the examples of {stage.name} come from an object in this program, so a "
                "later run cannot check that they are the same. Remove directory, or write the "
                "examples to files with write(...) and read those."
            )
        if not stage.is_seed_given:
            raise ValueError(
                f"cache: {stage.name} has no seed, so every run would draw a new seed and create "
                f"a new cache. Set a seed, such as {stage.name}(..., seed=0)."
            )
        if keeps_state(stage.called_function):
            raise ValueError(
                f"cache: the function of {stage.name} has state, so a later run cannot check that "
                "its results would be the same. Remove directory, or put the function after the "
                "cache."
            )
