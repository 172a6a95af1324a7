"""Rules for random access: pipelines whose examples can be read in any order."""

from collections.abc import Callable, Sequence
from typing import Final

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.native_function import NativeFunction
from headrace.pipeline.describe.source import Source
from headrace.pipeline.describe.specs import batch_depth
from headrace.pipeline.describe.stages import Stage

__all__ = [
    "check_reachable",
    "check_skippable",
    "is_read_late",
    "is_shuffled_whole",
    "keeps_all",
    "may_have_index",
    "needs_scan",
    "reads_files",
]

# Sources with random access through an index, if the files are not compressed.
_INDEXED_KINDS: Final = ("tfrecords", "text_lines", "fixed_length_records", "files")
# Stages that give one example for each.
_ONE_TO_ONE: Final = (
    stages.Parse,
    stages.Select,
    stages.Rename,
    stages.Map,
    stages.WithOrigin,
    stages.Cache,
)


def check_reachable(chain: Sequence[Stage]) -> None:
    """Checks that a shuffle of all examples may follow.

    Raises:
        ValueError: If not; the message names the obstacle.
    """
    reason = _obstacle(chain)
    if reason is not None:
        if batch_depth(chain):
            raise ValueError(
                "shuffle: it follows a batch, expected examples. Move shuffle before batch, or "
                "write shuffle(window=100) to shuffle whole batches."
            )
        raise ValueError(
            f"shuffle: without a window all examples must be reachable, but {reason}. Give a "
            "window, such as shuffle(window=10_000)."
        )


def check_skippable(chain: Sequence[Stage]) -> None:
    """Checks that examples that fail in these stages can be skipped.

    Raises:
        ValueError: If not; the message names the obstacle.
    """
    for part in stages.parts_of(chain[0]):
        check_skippable(part)
    is_full = any(isinstance(stage, stages.Shuffle) and stage.window is None for stage in chain)
    if is_full and isinstance(chain[0], (stages.Concat, stages.Zip)):
        name = chain[0].name
        remedy = ", or shuffle each part before concat" if name == "concat" else ""
        raise ValueError(
            f"skip_errors: it cannot follow a shuffle of all examples of {name}, whose order "
            "counts each of them. Give the shuffle a window, such as shuffle(window=10_000)"
            f"{remedy}."
        )


def is_read_late(chain: Sequence[Stage], shuffle: int) -> bool:
    """Returns whether a full shuffle passes on numbers of examples, which are read after a shard.

    This is so if a `shard`, or a share of the batches, drops most examples before any stage needs
    their values.

    Args:
        chain: All stages.
        shuffle: The index of the shuffle.
    """
    if isinstance(chain[0], (stages.Concat, stages.Zip)) or not all(map(_waits, chain[1:shuffle])):
        return False
    behind = chain[shuffle + 1 :]
    shards = (stages.Shard, stages.Share)
    shard = next((n for n, stage in enumerate(behind) if isinstance(stage, shards)), None)
    return shard is not None and all(
        _waits(stage) or isinstance(stage, (stages.Take, stages.Skip, stages.Epochs))
        for stage in behind[:shard]
    )


def _waits(stage: Stage) -> bool:
    """Returns whether a stage can run later, on the examples that a shard keeps."""
    if isinstance(stage, stages.Map):
        return isinstance(stage.function, NativeFunction)
    waiting = (stages.Parse, stages.Select, stages.Rename, stages.WithOrigin, stages.Prefetch)
    return isinstance(stage, waiting)


def is_shuffled_whole(chain: Sequence[Stage], is_shuffled_after: bool) -> bool:
    """Returns whether a full shuffle needs random access to the source itself, not to a cache.

    Args:
        chain: All stages.
        is_shuffled_after: Whether a shuffle of all examples follows them.
    """
    for stage in chain[1:]:
        if isinstance(stage, stages.Cache):
            return False
        if isinstance(stage, stages.Shuffle):
            return stage.window is None
    return is_shuffled_after


def keeps_all(chain: Sequence[Stage]) -> bool:
    """Returns whether a full shuffle keeps all examples of some source in memory."""
    source = chain[0]
    is_kept = isinstance(source, Source) and source.is_kept_for_shuffle
    return (is_kept or any(map(keeps_all, stages.parts_of(source)))) and not any(
        isinstance(stage, stages.Cache) for stage in chain
    )


def may_have_index(source: Stage) -> bool:
    """Returns whether index files can have the places of a source's records."""
    match source:
        case stages.Files(kind="tfrecords" | "text_lines", compression=None | "auto"):
            return True
        case Source(is_reachable=True, is_kept_for_shuffle=False):
            return getattr(source, "compression", None) in (None, "auto")
    return False


def needs_scan(chain: Sequence[Stage]) -> bool:
    """Returns whether files must be scanned before there is random access to their records."""
    return _has_source(
        chain, lambda source: source.is_scanned if isinstance(source, Source) else True
    )


def reads_files(chain: Sequence[Stage]) -> bool:
    """Returns whether examples are read from files, and not from a cache."""
    return _has_source(chain, lambda source: True)


def _has_source(chain: Sequence[Stage], is_wanted: Callable[[Stage], bool]) -> bool:
    source = chain[0]
    has_files = (isinstance(source, (stages.Files, Source)) and is_wanted(source)) or any(
        _has_source(part, is_wanted) for part in stages.parts_of(source)
    )
    return has_files and not any(isinstance(stage, stages.Cache) for stage in chain)


def _obstacle(  # noqa: PLR0911 (one for each source)
    chain: Sequence[Stage], is_part: bool = False
) -> str | None:
    if not is_part:
        # The shuffle is of all examples, and a part is taken of its result.
        split = next((n for n, s in enumerate(chain) if isinstance(s, stages.Split)), len(chain))
        if any(isinstance(stage, stages.Cache) for stage in chain[split:]):
            return "cache keeps a part of them only; write cache() before split(...)"
    for stage in chain[1:]:
        # The keys of a split's examples are known before these are read.
        if not isinstance(stage, (*_ONE_TO_ONE, stages.Split)):
            is_mine = isinstance(stage, stages.SkipErrors)
            what = (
                "skips some; shuffle before it" if is_mine else "does not make one example of each"
            )
            return f"{stage.name} {what}"
    source = chain[0]
    match source:
        case stages.Arrays() | stages.Indexed():
            return None
        case stages.Files(kind=kind, compression=compression) if kind in _INDEXED_KINDS:
            return _compressed(kind, compression)
        case Source(is_reachable=True):
            return _compressed(source.name, getattr(source, "compression", None))
        case stages.Concat(parts=parts) | stages.Zip(parts=parts):
            return next((found for part in parts if (found := _obstacle(part, is_part=True))), None)
    return f"{source.name} gives its examples in order only"


def _compressed(name: str, compression: str | None) -> str | None:
    if compression in (None, "auto"):  # The scan finds out.
        return None
    return f"the files of {name} are compressed with {compression}"
