"""Rules about random access for full shuffles, and about the files that a window reorders."""

from collections.abc import Sequence
from typing import Any, Final, Literal, cast

from headrace.pipeline.stages.components import batch_depth, num_cached, source_of, steps
from headrace.pipeline.stages.split_by import SplitBy
from headrace.pipeline.stages.stage import Effect, OrderStage, Stage, Step

__all__ = [
    "check_reachable",
    "check_skippable",
    "divided_before",
    "has_deferred_reads",
    "is_reordered",
    "is_sampled",
    "keeps_all",
    "needs_scan",
    "obstacle",
    "order_stage",
    "pieces_before",
    "reads_files",
    "shard_of_pieces",
    "window_before",
]

# Stages that a full shuffle may follow: each record still yields exactly one example.
_OF_RECORDS: Final = (Effect.EACH, Effect.KEEPS)
# Stages that treat each example independently. A later window may therefore reorder files.
_ALONE: Final = (
    *(Effect.EACH, Effect.EXPANDS, Effect.FILTERS),
    *(Effect.SPLITS, Effect.SKIPS_ERRORS),
)
# Stages that may come between a window and `shard(by="piece")`.
_OF_EXAMPLES: Final = (Effect.EACH, Effect.EXPANDS, Effect.FILTERS, Effect.REPEATS)


def check_reachable(chain: Sequence[Stage]) -> None:
    """Checks that a full shuffle may follow.

    Raises:
        ValueError: If a full shuffle may not follow. The message names the reason.
    """
    reason = obstacle(chain)
    if reason is not None:
        if batch_depth(chain):
            raise ValueError(
                "shuffle: a full shuffle cannot come after batch, because it needs single "
                "examples. Move shuffle before batch, or use shuffle(window=100) to shuffle "
                "whole batches."
            )
        raise ValueError(
            f"shuffle: a full shuffle needs random access, but {reason}. Pass a window, such as "
            "shuffle(window=10_000)."
        )


def check_skippable(chain: Sequence[Stage]) -> None:
    """Checks that examples that fail in these stages can be skipped.

    Raises:
        ValueError: If they cannot be skipped. The message names the reason.
    """
    for part in chain[0].parts:
        check_skippable(part)
    for step in steps(chain):
        if step.counts_ranks:
            raise ValueError(
                f"skip_errors: cannot come after {step.name}, because all ranks must get the same "
                f"batches. Find damaged examples earlier: write map(check).skip_errors(...) before "
                f"{step.name}(...), where check decodes the image."
            )
    is_full = any(step.full_shuffle for step in steps(chain))
    if is_full and chain[0].parts:
        name = chain[0].name
        if any(step.effect is Effect.SAMPLES for step in steps(chain)):
            raise ValueError(
                f"skip_errors: cannot come after sample of {name}, because its draws include every "
                f"example. Write skip_errors(...) in the parts of {name}, or remove it."
            )
        remedy = ", or shuffle each part before concat" if name == "concat" else ""
        raise ValueError(
            f"skip_errors: cannot come after a full shuffle of {name}, because the order of that "
            "shuffle includes every example. Use a window, such as "
            f"shuffle(window=10_000){remedy}."
        )


def obstacle(
    chain: Sequence[Stage], is_part: bool = False, may_be_divided: bool = False
) -> str | None:
    """Returns the reason why a full shuffle cannot follow, or None if it can.

    Args:
        chain: The stages before the shuffle.
        is_part: Whether the stages belong to a combined pipeline.
        may_be_divided: Whether a `shard` may be among the stages.
    """
    split = _last_split_by(chain) if is_part or may_be_divided else None
    reason = _obstacle_in_stages(chain, is_part, may_be_divided)
    if split is not None and reason is None:
        reason = (
            f"split(by={split.by!r}) must read examples to divide them. Shuffle its parts, or "
            "write cache() after it"
        )
    return reason or source_of(chain).obstacle


def _obstacle_in_stages(chain: Sequence[Stage], is_part: bool, may_be_divided: bool) -> str | None:
    """Returns the reason why a full shuffle cannot follow these stages, whatever their source."""
    is_split = is_divided = False
    for index, step in enumerate(steps(chain), 1):
        if step.effect is Effect.WINDOWS:
            if (reason := _obstacle_to_windows(chain[:index])) is not None:
                return reason
            continue
        if is_divided and step.effect in (Effect.KEEPS, Effect.SPLITS):
            return f"{step.name} comes after shard. Write {step.name}(...) before shard(...)"
        if step.effect is Effect.DIVIDES and may_be_divided and not is_divided:
            is_divided = True
            continue
        if step.effect is Effect.KEEPS and is_split and not is_part:
            # The engine shuffles all examples first and then takes the part.
            return "cache stores only some of the examples, so write cache() before split(...)"
        if step.effect in _OF_RECORDS:
            continue
        if step.judges_errors:
            return f"{step.name} skips examples, so call it later"
        if step.effect is not Effect.SPLITS:
            return f"{step.name} does not turn each example into exactly one"
        # The keys of a split are known before its examples are read.
        is_split = True
    return None


def _last_split_by(chain: Sequence[Stage]) -> SplitBy | None:
    """Returns a `split(by=...)` after the last cache, which stores a part with known positions."""
    behind = chain[num_cached(chain) + 1 :]
    return next((step for step in behind if isinstance(step, SplitBy)), None)


def _obstacle_to_windows(chain: Sequence[Stage]) -> str | None:
    """Returns the reason why windows of single records cannot be read, or None if they can."""
    behind = steps(chain)[num_cached(chain) :]
    if (step := next((step for step in behind if step.runs_python), None)) is not None:
        return (
            f"{step.name} calls a Python function for each example of a window. Write cache() "
            "before windows, use a native function, or call the function after windows"
        )
    part = next((step.slice for step in behind if hasattr(step, "slice")), None)
    if part is not None:
        return f"windows follows the slice {part!r}, which is read from start to end"
    if chain[0].parts and not _is_cached(chain):
        return (
            f"windows follows {chain[0].name}. Call windows(...) on each part, or write cache() "
            "before windows"
        )
    return None


def has_deferred_reads(chain: Sequence[Stage], shuffle: int) -> bool:
    """Returns whether a full shuffle passes on only row numbers, for a later shard to read.

    This is the case if a `shard`, or a reader's share, drops most examples before any stage needs
    their values.

    Args:
        chain: All stages.
        shuffle: The index of the shuffle stage.
    """
    is_combined = bool(chain[0].parts)
    before = (step for step in steps(chain)[: shuffle - 1] if step.effect is not Effect.WINDOWS)
    if is_combined or not all(map(_waits, before)):
        return False
    for step in steps(chain)[shuffle:]:
        if step.effect in (Effect.DIVIDES, Effect.SHARES):
            return True
        if not _waits(step) and not step.counts_examples and step.effect is not Effect.REPEATS:
            return False
    return False


def _waits(step: Step) -> bool:
    """Returns whether a step can wait and run only on the examples that a shard keeps."""
    return step.effect is Effect.EACH and not step.runs_python


def order_stage(chain: Sequence[Stage], after: OrderStage | None) -> OrderStage | None:
    """Returns the stage that needs random access to the source itself, not to a cache, if any.

    Args:
        chain: All stages.
        after: The stage after these that needs random access to their examples, if any.
    """
    for step in steps(chain):
        if step.effect is Effect.KEEPS:
            return None
        if step.effect is Effect.SAMPLES:
            return "sample"
        if step.effect is Effect.REORDERS:
            return "shuffle" if step.full_shuffle else None
    return after


def is_sampled(chain: Sequence[Stage], shard: int) -> bool:
    """Returns whether a sample after a shard draws only from this rank's share of the examples.

    Args:
        chain: All stages.
        shard: The index of the shard.
    """
    behind = (step for step in steps(chain)[shard:] if step.effect is not Effect.EACH)
    after = next(behind, None)
    return after is not None and after.effect is Effect.SAMPLES


def divided_before(
    chain: Sequence[Stage], sample: int
) -> tuple[tuple[int, int], Literal["drop", "pad"] | None]:
    """Returns the shard that a sample draws from, as its index and the number of shards.

    Also returns how the last examples are divided among the shards.

    Args:
        chain: All stages.
        sample: The index of the sample.
    """
    for step in steps(chain)[: sample - 1]:
        if step.effect is Effect.DIVIDES:
            shard = cast("Any", step)
            return (shard.index, shard.count), shard.even
    return (0, 1), None


def _is_cached(chain: Sequence[Stage]) -> bool:
    return any(step.effect is Effect.KEEPS for step in steps(chain))


def keeps_all(chain: Sequence[Stage]) -> bool:
    """Returns whether a full shuffle holds all examples of some source in memory."""
    return not _is_cached(chain) and (
        source_of(chain).is_kept_for_shuffle or any(map(keeps_all, chain[0].parts))
    )


def needs_scan(chain: Sequence[Stage]) -> bool:
    """Returns whether files must be scanned before their records can be accessed at random."""
    source = source_of(chain)
    is_scanned = source.reads_files and source.is_scanned
    return not _is_cached(chain) and (is_scanned or any(map(needs_scan, source.parts)))


def reads_files(chain: Sequence[Stage]) -> bool:
    """Returns whether examples are read from files rather than from a cache."""
    source = source_of(chain)
    return not _is_cached(chain) and (source.reads_files or any(map(reads_files, source.parts)))


def pieces_before(chain: Sequence[Stage], block_bytes: int | None = None) -> list[str]:
    """Names the pieces that a following window may reorder. Empty if there are none.

    Args:
        chain: The stages before the window.
        block_bytes: The block size in bytes, or None for whole files.
    """
    if any(step.effect not in _ALONE for step in steps(chain)):
        return []
    return source_of(chain).window_pieces(block_bytes)


def is_reordered(chain: Sequence[Stage]) -> bool:
    """Returns whether a shuffle after these stages changes the order of examples from files."""
    is_in_order = any(step.effect not in _ALONE for step in steps(chain))
    return not is_in_order and source_of(chain).is_reordered


def window_before(chain: Sequence[Stage]) -> int | None:
    """Returns the index of the last shuffle, if it has a window and later stages allow pieces."""
    for index in range(len(chain) - 1, 0, -1):
        step = steps(chain)[index - 1]
        if step.effect is Effect.REORDERS:
            return None if step.full_shuffle else index
        if step.effect not in _OF_EXAMPLES:
            return None
    return None


def shard_of_pieces(chain: Sequence[Stage], window: int) -> tuple[int, int]:
    """Returns the rank and the number of ranks that divide the files before a window.

    Args:
        chain: All stages.
        window: The index of a shuffle with a window.
    """
    for step in steps(chain)[window:]:
        if step.piece_shard is not None:
            return step.piece_shard
        if step.effect not in _OF_EXAMPLES:
            break
    return 0, 1
