"""A mix's parts, in an iteration and in its states."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.core import engine
from headrace.core.errors import FailedPreconditionError
from headrace.pipeline.sources.mix import Mix, mixture_of
from headrace.pipeline.stages.components import all_sources, all_stages, all_steps, source_of, steps
from headrace.pipeline.stages.stage import Effect, Stage

__all__ = [
    "CHANGED_MIXTURE_ORDER",
    "CHANGED_MIXTURE_PASS",
    "MixtureParts",
    "MixtureResumePoint",
    "is_mixture_state",
    "weights_of",
    "with_parts",
]

# A pass number that is never reached.
CHANGED_MIXTURE_PASS: Final = 1 << 62
# The value that a state stores for the order of a changed mix, before its first example.
CHANGED_MIXTURE_ORDER: Final = [0, CHANGED_MIXTURE_PASS, 0, 0, 0]
_BEGINNING: Final = [[0]]
# How many outputs to wait for while the other ranks' examples of the last step are being read.
_MOST_AHEAD: Final = 8
# The entries of a state with values for each part, in the order of `_sizes`.
_OF_PARTS: Final = ("files", "seeds", "epochs", "weights")


@dataclass(frozen=True)
class MixtureResumePoint:
    """The position and the counts from which a mix resumes.

    Attributes:
        counts: The number of examples delivered so far, by part name.
        checkpoints: The position before an example, or None if it is unknown.
        is_changed: Whether the parts or weights differ from those in the state.
    """

    counts: dict[str, int]
    checkpoints: list[Any] | None
    is_changed: bool = False


class MixtureParts:
    """Counts how many examples of each part an iteration has delivered."""

    def __init__(self, chain: Sequence[Stage], resumed: MixtureResumePoint | None) -> None:
        """Stores the stages, and the position and the counts to resume from."""
        self._mix = mixture_of(source_of(chain))
        self._resumed = resumed
        self._divider = _divider(chain)
        self._has_shard = any(step.effect is Effect.DIVIDES for step in steps(chain))

    @property
    def is_changed(self) -> bool:
        """Whether the parts or weights of the mix differ from those in the state."""
        return self._resumed is not None and self._resumed.is_changed

    @property
    def num_parts(self) -> int:
        """The number of parts, or 0 if the source is not a mix."""
        return 0 if self._mix is None else len(self._mix.called)

    @property
    def counted_names(self) -> tuple[str, ...]:
        """The names of the parts whose examples can be counted."""
        return () if self._mix is None or self._divider is not None else self._mix.called

    def counts(self, received: Sequence[int]) -> dict[str, int]:
        """Returns the counts by part name, or an empty dict if the source is not a mix.

        Args:
            received: The number of examples from each part in this iteration.

        Raises:
            FailedPreconditionError: If a stage splits batches.
        """
        if self._mix is None:
            return {}
        if self._divider is not None:
            raise FailedPreconditionError(
                None,
                None,
                f"counts: {self._divider} splits batches, so it is unknown which part of mix an "
                "example came from. Add a component that names the part, and count that.",
            )
        before = self._resumed.counts if self._resumed is not None else {}
        mine = dict(zip(self._mix.called, received, strict=True))
        names = dict.fromkeys((*mine, *before))
        return {name: mine.get(name, 0) + before.get(name, 0) for name in names}

    def state(
        self,
        execution: engine.Execution,
        plan: engine.Plan,
        num_left: int,
        received: Sequence[int],
        has_taken: bool,
    ) -> dict[str, Any] | None:
        """Returns the value that a state stores for the mix, or None if the source is not a mix."""
        if self._mix is None:
            return None
        if has_taken:
            checkpoints = self._checkpoints(execution, plan, num_left)
        else:
            # Until then, only the engine's own position is known, which is ahead of the loop's.
            checkpoints = _BEGINNING if self._resumed is None else self._resumed.checkpoints
        return {
            "names": list(self._mix.called),
            "sizes": [_sizes(part) for part in self._mix.parts],
            "counts": {} if self._divider else self.counts(received),
            "place": checkpoints,
        }

    def _checkpoints(
        self, execution: engine.Execution, plan: engine.Plan, num_left: int
    ) -> list[Any] | None:
        checkpoints = execution.mix_checkpoint(plan, num_left)
        for _ in range(_MOST_AHEAD if self._has_shard else 0):
            if checkpoints is not None:
                break
            is_going_on = execution.look_ahead()
            checkpoints = execution.mix_checkpoint(plan, num_left)
            if not is_going_on:
                break
        return checkpoints


def _divider(chain: Sequence[Stage]) -> str | None:
    """Returns the name of a stage that splits batches, if any."""
    has_groups = False
    for step in steps(chain):
        has_groups = has_groups or step.effect is Effect.GROUPS
        if has_groups and step.effect is Effect.EXPANDS:
            return step.name
    return None


def weights_of(stage: Mix) -> list[Any]:
    """Returns the weights of a mix as stored in states."""
    if not stage.schedule:
        return list(stage.weights)
    return [
        [position, list(weights)] for position, weights in ((0, stage.weights), *stage.schedule)
    ]


def is_mixture_state(value: object) -> bool:
    """Returns whether a value has the structure of a result of `MixtureParts.state`."""
    return (
        isinstance(value, dict)
        and set(value) == {"names", "sizes", "counts", "place"}
        and isinstance(value["names"], list)
        and all(isinstance(name, str) for name in value["names"])
        and isinstance(value["sizes"], list)
        and len(value["sizes"]) == len(value["names"])
        and all(
            isinstance(sizes, list)
            and len(sizes) == len(_OF_PARTS)
            and all(type(size) is int and size >= 0 for size in sizes)
            for sizes in value["sizes"]
        )
        and isinstance(value["counts"], dict)
        and all(type(count) is int for count in value["counts"].values())
        and isinstance(value["place"], list | None)
    )


def with_parts(
    chain: Sequence[Stage],
    state: Mapping[str, Any],
    allow: Collection[str],
    mine: Mapping[str, Any],
) -> dict[str, Any]:
    """Adapts a state to the current parts of a mix.

    New parts are taken from `mine`, and removed parts are dropped.

    Args:
        chain: The pipeline's stages.
        state: The state.
        allow: The differences to allow.
        mine: The same entries for this pipeline, with None for each source in `files`.

    Raises:
        ValueError: If the parts differ and `allow` does not include "parts".
    """
    source, mixture = mixture_of(source_of(chain)), state.get("mixture")
    if source is None or mixture is None:
        return dict(state)
    old, new = mixture["names"], list(source.called)
    if old == new or not source.part_names:
        return dict(state)
    if "parts" not in allow:
        raise ValueError(
            f"resume: the parts of mix are {_list(new)}, but they were {_list(old)} when the "
            f"state was saved. If this is intended, resume with allow={{'parts'}}."
        )
    if any(text is not None for text in state["functions"]):
        raise ValueError(
            "resume: some functions have state, so the parts of mix cannot change. Resume with "
            "the parts that were used when the state was saved."
        )
    words = state["stages"]
    if not isinstance(words[0], list) or len(words[0]) != len(old) + 1:
        return dict(state)
    of_old = dict(zip(old, words[0][1:], strict=True))
    of_new = dict(zip(new, mine["stages"][0][1:], strict=True))
    first = [words[0][0], *(of_old.get(name, of_new[name]) for name in new)]
    adapted = {**state, "stages": [first, *words[1:]], "functions": list(mine["functions"])}
    for number, key in enumerate(_OF_PARTS):
        old_values, rest = _divided(state[key], [sizes[number] for sizes in mixture["sizes"]])
        new_values, _ = _divided(mine[key], [_sizes(part)[number] for part in source.parts])
        old_by_name = dict(zip(old, old_values, strict=True))
        chosen = [old_by_name.get(name, new_values[n]) for n, name in enumerate(new)]
        adapted[key] = [value for values in chosen for value in values] + rest
    if adapted["weights"]:
        # The weights must match the current parts.
        adapted["weights"][-1] = mine["weights"][-1]
    return adapted


def _sizes(part: Sequence[Stage]) -> list[int]:
    """Returns how many values of each state entry belong to a part."""
    sources = list(all_sources(part))
    return [
        sum(source.reads_files for source in sources),
        sum(getattr(stage, "seed", None) is not None for stage in all_stages(part)),
        sum(step.effect is Effect.REPEATS for step in all_steps(part)),
        sum(mixture_of(source) is not None for source in sources),
    ]


def _divided(values: Sequence[Any], sizes: Sequence[int]) -> tuple[list[list[Any]], list[Any]]:
    """Returns the values of each part, and the remaining values."""
    rest = list(values)
    parts = []
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    return parts, rest


def _list(values: Sequence[str]) -> str:
    return ", ".join(map(repr, values))
