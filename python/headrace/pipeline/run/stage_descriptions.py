"""Short descriptions of stages, used by states to identify their pipeline."""

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any, Final, TypeAlias, cast

from headrace.core.digests import sha256
from headrace.pipeline.functions.function_state import keeps_state
from headrace.pipeline.functions.python_functions import name_of
from headrace.pipeline.stages.components import source_of, steps
from headrace.pipeline.stages.source import Source
from headrace.pipeline.stages.stage import Effect, Stage, Step, text

__all__ = ["Words", "check_alike", "describe_stages", "is_valid"]

# Fields that do not affect the examples or are checked elsewhere.
_LEFT_OUT: Final[tuple[str, ...]] = (
    "paths",
    "root",
    "seed",
    "parts",
    "weights",
    "part_names",
    "schedule",
    "budget",
    "raises_at_end",
    "num_threads",
    "num_processes",
    "directory",
    "bytes",
    "key",
)
# Longer descriptions of a stage are replaced by a digest.
_MOST_LETTERS: Final = 40

# A stage as text. For a source that combines pipelines, its text and their stages' texts.
Words: TypeAlias = "str | list[Any]"


def is_valid(value: object) -> bool:
    """Returns whether a value has the structure of a result of `describe_stages`."""
    return isinstance(value, list) and all(
        isinstance(one, str)
        or (
            isinstance(one, list)
            and one
            and isinstance(one[0], str)
            and all(map(is_valid, one[1:]))
        )
        for one in value
    )


def check_alike(mine: Sequence[Words], other: Sequence[Words], where: str = "") -> None:
    """Raises ValueError unless two pipelines have the same stages.

    Args:
        mine: The descriptions of this pipeline's stages.
        other: The descriptions from the state.
        where: The position of a part in the whole pipeline, for messages.
    """
    for number, (one, another) in enumerate(zip(mine, other, strict=False)):
        label = f"stage {number}{where}"
        if isinstance(one, list) and isinstance(another, list) and one[0] == another[0]:
            for part, (inner, outer) in enumerate(zip(one[1:], another[1:], strict=False)):
                check_alike(inner, outer, f" of part {part} of {label}")
        if one != another:
            raise ValueError(
                f"resume: {label} is {_shown(one)}, but it was {_shown(another)} when the state "
                f"was saved. {_remedy(one, another)}"
            )
    if len(mine) != len(other):
        more, fewer = max(mine, other, key=len), min(len(mine), len(other))
        this, saved = "this pipeline", "the saved pipeline"
        whose, other_pipeline = (this, saved) if more is mine else (saved, this)
        raise ValueError(
            f"resume: {whose} has {_shown(more[fewer])} after stage {fewer - 1}{where}, but "
            f"{other_pipeline} does not. Resume with the same pipeline."
        )


def _remedy(one: Words, another: Words) -> str:
    shards = [_shown(words) for words in (one, another)]
    if all(text.startswith("shard(") and "piece" in text for text in shards):
        return (
            "With by='piece', each rank reads its own files, so the positions of the other ranks "
            "are unknown. Resume with the same rank and number of ranks, or start a new epoch "
            "with epoch(e)."
        )
    if all(text.startswith("shard(") for text in shards):
        return (
            "Resume with the same shard. A state works with a different shard only if shard is not "
            "in a part of mix, concat or zip, and if it is followed only by map with stateless "
            "functions, parse, select, rename, batches and one epochs."
        )
    if any(_shown(words).endswith(" processes") for words in (one, another)):
        return (
            "Each process of iterable yields its own part of the data, so the number of "
            "processes cannot change. Resume with the same num_processes."
        )
    return "Resume with the same pipeline."


def _shown(words: Words) -> str:
    return words if isinstance(words, str) else str(words[0])


def describe_stages(chain: Sequence[Stage], is_part: bool = False) -> list[Words]:
    """Returns short descriptions of the stages.

    Args:
        chain: The stages of a pipeline.
        is_part: Whether the pipeline is a part of a combined pipeline. The number of shards in a
            part cannot change, because it is unknown how many examples another rank has drawn from
            the part.
    """
    shards = (
        index
        for index, step in enumerate(steps(chain), 1)
        if step.effect is Effect.DIVIDES and step.piece_shard is None
    )
    elastic = next(
        (
            index
            for index in shards
            if not is_part
            and _is_elastic(chain[index + 1 :])
            and _may_change_order(chain[:index], chain[index + 1 :])
        ),
        len(chain),
    )
    fixed = elastic + _num_fixed(chain[elastic:])
    words = [_source_words(source_of(chain))]
    words += [
        _step_words(step, index >= elastic, index < fixed)
        for index, step in enumerate(steps(chain), 1)
        if step.described_by is not None
    ]
    return words


def _source_words(source: Source) -> Words:
    """Returns a short description of a source."""
    words = _shortened(source, _LEFT_OUT)
    parts = source.parts
    return [words, *(describe_stages(part, is_part=True) for part in parts)] if parts else words


def _step_words(step: Step, is_elastic: bool, is_size_fixed: bool) -> str:
    """Returns a short description of a step.

    Args:
        step: The step.
        is_elastic: Whether it is or follows a `shard` whose number of shards may change.
        is_size_fixed: Whether batches must keep their size.
    """
    if step.effect is Effect.DIVIDES and is_elastic:
        even = step.makes_even
        return step.name if even is None else f"{step.name}(even={even!r})"
    left_out = _LEFT_OUT
    # A position in a schedule is valid only for the same schedule.
    if step.groups_evenly and not is_size_fixed and isinstance(getattr(step, "size", None), int):
        left_out = (*_LEFT_OUT, "size")
    elif step.effect is Effect.REPEATS:
        left_out = (*_LEFT_OUT, "count")
    words = _shortened(step, left_out)
    has_state = step.effect is Effect.EACH and keeps_state(step.called_function)
    return f"{words} with a state" if has_state else words


def _shortened(stage: Stage, left_out: Collection[str]) -> str:
    words = stage.described_by or _with_fields(stage, left_out)
    if len(words) > _MOST_LETTERS:
        words = f"{stage.name}#{sha256(words.encode()).hexdigest()[:8]}"
    return words + stage.described_in_state


def _with_fields(stage: Stage, left_out: Collection[str]) -> str:
    shown = [
        _text(value)
        for item in fields(cast("Any", stage))
        if item.compare
        and item.repr
        and item.name not in left_out
        and (value := getattr(stage, item.name)) != item.default
    ]
    return f"{stage.name}({', '.join(shown)})"


def _text(value: object) -> str:
    """Formats a stage argument as text that is the same in every process."""
    if callable(value) and not isinstance(value, type):
        return name_of(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return text(value)


def _is_elastic(after: Sequence[Stage]) -> bool:
    """Returns whether the stages after `shard` allow resuming with a different number of shards.

    No later stage may change the number of examples, hold examples back, or have a state of its own
    that only one rank knows.
    """
    behind = cast("Sequence[Step]", after)
    return (
        all(step.effect in (Effect.EACH, Effect.REPEATS) or step.groups_evenly for step in behind)
        and not any(keeps_state(step.called_function) for step in behind)
        and sum(step.effect is Effect.REPEATS for step in behind) <= 1
    )


def _may_change_order(before: Sequence[Stage], after: Sequence[Stage]) -> bool:
    """Returns whether the order before `shard` may depend on the number of shards.

    It may if a stage orders examples by rank. Within `epochs`, the examples before the position of
    a state are counted again, in the order for the new number of shards.
    """
    is_by_rank = any(cast("Step", step).counts_ranks for step in before[1:])
    return not is_by_rank or all(cast("Step", s).effect is not Effect.REPEATS for s in after)


def _num_fixed(elastic: Sequence[Stage]) -> int:
    """Returns how many stages, starting at an elastic `shard`, have a fixed batch size.

    A batch after `epochs` may start in one epoch and end in another. In that case, the batches
    before `epochs` must have had the same size.
    """
    behind = cast("Sequence[Step]", elastic)
    epochs = next((n for n, step in enumerate(behind) if step.effect is Effect.REPEATS), 0)
    return epochs if any(step.groups_evenly for step in behind[epochs:]) else 0
