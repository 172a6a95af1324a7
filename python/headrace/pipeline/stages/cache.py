"""`cache`: examples that are kept in memory or on disk."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

from headrace.core import engine
from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.stages.arguments import checked_directory, checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import has_epochs
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning, Stage, named

__all__ = ["Cache", "CacheMethod"]


class CachedExamples:
    """The examples that a cache keeps in memory.

    What was skipped among them is told by the numbers of stages. So pipelines that skip failures
    share examples only if their stages are the same up to the last `skip_errors`.
    """

    def __init__(self) -> None:
        self._caches: list[tuple[object, engine.Cache]] = []

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return CachedExamples, ()

    def of(self, skipping: object) -> engine.Cache:
        """Returns the examples for pipelines that skip failures alike.

        Args:
            skipping: What `Planning.skipping` returns.
        """
        for other, cache in self._caches:
            if other == skipping:
                return cache
        self._caches.append((skipping, cache := engine.Cache()))
        return cache


@dataclass(frozen=True)
class Cache(KeepsComponents):
    """Examples that are kept in memory or on disk.

    Attributes:
        directory: The directory of files with the examples; None for memory.
        bytes: The most bytes of all caches in the directory; None for any number.
        key: A text that stands for the code of the functions before; None to compare the code.
        kept: The examples of earlier passes in memory. All pipelines made from this stage share
            them, unless they skip failures differently.
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
        """Whether it keeps examples on disk."""
        return self.directory is not None

    def length_after(self, length: float) -> float:
        """Returns how many examples come out of it."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds its work to a plan."""
        # Whole blocks are cached, after the deferred work, which may remove rows.
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
        """Keeps all examples in memory or on disk, so that the stages before run once for each.

        Later passes read them from there. The stages before always run as epoch 0, so a shuffle or
        random draws before `cache` are the same in all epochs; those after it differ. The examples
        count as `memory_bytes`. They live as long as this pipeline or one made from it. If a pass
        is left before its end, the next one continues after the examples it has returned; examples
        read ahead are made again. Two iterations that run at the same time, before a whole pass is
        cached, each make the examples themselves. Functions that draw in a part of a combination
        are called again for the examples that components are learned from: their draws depend on
        the combination.

        With `directory` the examples are in a file there, which later programs read too. It belongs
        to the description of the stages before, to the code of their functions with the values that
        they use, and to the names, sizes and times of change (or ETags) of the files: if one of
        these differs, the stages run again and write another file. If a function looks up names
        while it runs, all sources count that its module imports. Installed packages count with
        their versions. A file that a function opens by itself is not noticed. With `key`, the code
        of functions does not count: change the key yourself when their results change. A pass left
        before its end keeps nothing. If several processes begin the same pass, one of them writes.
        A killed process leaves nothing that is read. A damaged file is removed and made again. What
        was not kept, and why, is a warning of the logger `headrace.pipeline`; the examples are the
        same with and without it. Examples that `skip_errors` skipped before the cache are kept as
        skipped, unless a failure may be temporary, such as a lack of memory: then nothing is kept.
        Only what is being read or written counts as `memory_bytes`. Small files beside it,
        `*.hrspecs`, have the components of functions' results, so that a full cache calls no
        function before it.

        Args:
            directory: A directory of this machine, which is made if there is none. None for memory.
            bytes: The most bytes of all caches in the directory, at least 1. The least recently
                used ones are removed for a new one. Examples that take more are not kept. None for
                any number.
            key: A text of your choice, such as "v3", that stands for the code of the functions
                before. None to compare the code.

        Raises:
            TypeError: If `directory` is not a path, `bytes` not an integer, or `key` not a string.
            ValueError: After `epochs`; if `directory` is a URL; if `bytes` or `key` is given
                without it; if
                a later program could not tell whether the examples are still the same: those of
                `iterable` and `indexed`, after a shuffle or `mix` without a seed, or of a function
                that keeps a state.

        A function that uses an object that cannot be compared between programs, such as a lock, is
        refused when the pipeline is iterated, unless there is a `key`.
        """
        if has_epochs(self._stages):
            raise ValueError(
                "cache: it follows epochs, all of which it would keep. Write cache() before "
                "epochs(...)."
            )
        if directory is None:
            if bytes is not None:
                raise ValueError("cache: bytes is given without a directory.")
            if key is not None:
                raise ValueError("cache: key is given without a directory.")
            return self._then(Cache())
        path = os.path.abspath(checked_directory(directory, "directory", "cache"))
        most = None if bytes is None else checked_int("cache", "bytes", bytes, 1)
        if key is not None and not isinstance(key, str):
            raise TypeError(f"cache: key is {key!r}, expected a string, such as 'v3'.")
        _check_can_be_on_disk(self._stages)
        return self._then(Cache(path, most, key))


def _check_can_be_on_disk(chain: Sequence[Stage]) -> None:
    """Raises ValueError if examples on disk could not be told from those of another program.

    Args:
        chain: The stages before the cache.
    """
    for stage in chain:
        for part in stage.parts:
            _check_can_be_on_disk(part)
        if stage.reads_objects:
            raise ValueError(
                f"cache: the examples of {stage.name} come from an object of the program, so a "
                "later program cannot tell whether they are still the same. Leave directory out, "
                "or write the examples to files with write(...) and read those."
            )
        if not stage.is_seed_given:
            raise ValueError(
                f"cache: {stage.name} has no seed, so each program would draw another one, and "
                f"another cache. Give it one, such as {stage.name}(..., seed=0)."
            )
        if keeps_state(stage.called_function):
            raise ValueError(
                f"cache: the function of {stage.name} keeps a state, which a later program cannot "
                "compare. Leave directory out, or put the function after the cache."
            )
