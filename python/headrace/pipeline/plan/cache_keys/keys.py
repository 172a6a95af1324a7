"""Keys of disk caches: a hash of everything that determines the examples, except the files.

The engine compares the files that examples are read from, including their sizes and times.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, Final, cast

from headrace.core import engine
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.plan.cache_keys.code_fingerprint import Fingerprint
from headrace.pipeline.stages.cache import CachedExamples
from headrace.pipeline.stages.stage import Stage
from headrace.pipeline.workers.iterator_pool import IteratorPool

__all__ = ["cache_key", "with_companions"]

# Fields that do not affect the examples.
_LEFT_OUT: Final = ("num_threads", "num_processes", "is_seed_given", "taken_from", "kept", "part")
_RUNTIME: Final = (CachedExamples, engine.Index, WorkerHolder, IteratorPool, deque)
# The endings of files that store the starts of a token file's documents.
_COMPANIONS: Final = (".idx", ".index", ".metadata")


def cache_key(
    chain: Sequence[Stage],
    contents: Iterable[tuple[str, str]],
    number: int,
    key: str | None = None,
) -> str:
    """Returns the hash of a description as hexadecimal digits.

    Args:
        chain: The stages before the cache.
        contents: The files that native functions depend on, with their digests.
        number: The number of the cache among all stages, for reports of skipped examples.
        key: The user's key, used instead of comparing functions, or None to compare them.

    Raises:
        ValueError: If a function uses a value that cannot be compared between programs.
    """
    fingerprint = Fingerprint()
    fingerprint.add(
        ("headrace", engine.version, sorted(contents), number), "the files of functions"
    )
    fingerprint.add(key, "key")
    _add_chain(fingerprint, chain, key is None)
    return fingerprint.hexdigest()[:32]


def _add_chain(fingerprint: Fingerprint, chain: Sequence[Stage], reads_functions: bool) -> None:
    for place, stage in enumerate(chain):
        fingerprint.add((type(stage).__qualname__, stage.name), stage.name)
        for name, value in _decisive(stage, is_source=place == 0):
            fingerprint.add(name, stage.name)
            if name == "parts":
                for part in value:
                    _add_chain(fingerprint, part, reads_functions)
            elif reads_functions or name != "function":
                fingerprint.add(value, stage.name)


def _decisive(stage: Stage, is_source: bool) -> Iterator[tuple[str, Any]]:
    """Yields the fields of a stage that affect the examples."""
    for item in fields(cast("Any", stage)):
        value = getattr(stage, item.name)
        if item.name in _LEFT_OUT or isinstance(value, _RUNTIME):
            continue
        # A source may store information from its files.
        if item.compare or not is_source:
            yield item.name, value


def with_companions(paths: Iterable[bytes]) -> list[bytes]:
    """Returns the files, together with local files that describe their contents."""
    companions = []
    for path in paths:
        companions.append(path)
        stem, suffix = os.path.splitext(path)
        if suffix in (b".bin", b".ds"):
            names = [start + os.fsencode(end) for start in (stem, path) for end in _COMPANIONS]
            companions += [name for name in names if os.path.exists(name)]
    return companions
