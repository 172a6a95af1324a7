"""An iteration's state, from which a pipeline can resume.

A state is plain data that `json` can serialise: a version, a description of the pipeline, digests
of its files, its seeds, the epoch, and the position. The position consists of the engine's
checkpoints (see `checkpoint.rs`).
"""

import json
import os
import reprlib
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from headrace.pipeline.plan.revisions import are_contents, are_revisions
from headrace.pipeline.run.file_digests import MOST_DIGESTS, digests_of, group_of
from headrace.pipeline.run.mixture_parts import (
    CHANGED_MIXTURE_ORDER,
    MixtureResumePoint,
    is_mixture_state,
    weights_of,
    with_parts,
)
from headrace.pipeline.run.skipped import is_report
from headrace.pipeline.run.stage_descriptions import check_alike, describe_stages, is_valid
from headrace.pipeline.sources.mix import mixture_of
from headrace.pipeline.stages.cache import Cache, CachedExamples
from headrace.pipeline.stages.components import all_sources, all_stages, all_steps, source_of, steps
from headrace.pipeline.stages.epochs import Epochs
from headrace.pipeline.stages.stage import Effect, Stage, Stages, StepRange

__all__ = [
    "ResumePoint",
    "check_files",
    "check_state",
    "damaged",
    "identity_of",
    "keys_of",
    "num_described",
    "order_of",
    "resumed",
    "state_from_text",
    "state_of",
    "state_text",
]

# The version of the state format. Raise it if the meaning of a position changes.
_VERSION: Final = 3
_KEYS: Final = (
    "version",
    "stages",
    "files",
    "seeds",
    "epochs",
    "weights",
    "epoch",
    "functions",
    "place",
    "digest",
    "skipped",
)
# The number of keys that a message lists.
_MOST_KEYS: Final = 10
# The differences that can be allowed, by state key, as described in messages.
_ALLOWED: Final = {"epochs": "the number of epochs", "weights": "the weights of mix"}
_ALL_ALLOWED: Final = ("epochs", "weights", "parts")


@dataclass(frozen=True)
class ResumePoint:
    """The information that a pipeline needs to resume.

    Attributes:
        chain: The pipeline's stages. Seeds that the user did not set come from the state.
        epoch: The number of the current epoch.
        checkpoints: The position in the epoch, for the engine.
        digest: The engine's digest of the global order so far, preceded by the number of stages
            that determine the order. None if there is no global order.
        files: Digests of each source's files.
        skipped: The examples skipped so far.
        functions: The state of each Python function at the start of the epoch, as text, or None for
            functions without a state.
        revisions: The commit of each data set on the hub, by the name that the pipeline uses.
        contents: The files that native functions depend on, with their digests.
        mixture: The position and the counts of a mix, or None if the source is not a mix.
        step: How many batches the pipeline has produced in the epoch, or examples if there is no
            `batch`. None if an earlier version saved the state.
        left_out: The steps that were omitted so far; see `StepCounter.left_out`.
    """

    chain: Stages
    epoch: int
    checkpoints: list[Any]
    digest: list[int] | None
    files: list[list[Any] | None]
    skipped: list[Any]
    functions: list[str | None]
    revisions: dict[str, str]
    contents: list[list[str]]
    mixture: MixtureResumePoint | None = None
    step: int | None = None
    left_out: Sequence[StepRange] = ()


def identity_of(
    chain: Sequence[Stage],
    files: Sequence[Sequence[bytes]],
    epoch: int,
    functions: Sequence[str | None],
    revisions: Mapping[str, str],
    contents: list[list[str]],
) -> dict[str, Any]:
    """Returns the entries that all states of an iteration share.

    Args:
        chain: The pipeline's stages.
        files: The files of each source.
        epoch: The epoch number.
        functions: The state of each Python function at the start of the epoch, as text.
        revisions: The commit of each data set on the hub, by the name that the pipeline uses.
        contents: The files that native functions depend on, with their digests.
    """
    return {
        "version": _VERSION,
        "stages": describe_stages(chain),
        "files": [digests_of(paths) for paths in files],
        "seeds": [stage.seed for stage in _drawn(chain)],
        **_numbers(chain),
        "epoch": epoch,
        "functions": list(functions),
        **({"revisions": dict(revisions)} if revisions else {}),
        **({"contents": contents} if contents else {}),
    }


def order_of(chain: Sequence[Stage]) -> list[Any]:
    """Describes a global order, without its files.

    Args:
        chain: The stages that determine the order.
    """
    return [
        describe_stages(chain),
        [stage.seed for stage in _drawn(chain)],
        _numbers(chain)["weights"],
    ]


def num_described(chain: Sequence[Stage]) -> int:
    """Returns how many entries a state has for these stages."""
    return len(describe_stages(chain))


def state_of(
    identity: Mapping[str, Any],
    checkpoints: list[Any],
    skipped: list[Any],
    digest: list[int] | None = None,
    mixture: dict[str, Any] | None = None,
    step: int | None = None,
    left_out: Sequence[StepRange] = (),
) -> dict[str, Any]:
    """Returns the state of an iteration.

    Args:
        identity: The iteration's result of `identity_of`.
        checkpoints: The position, from the engine.
        skipped: The examples skipped so far, from `Report.state`.
        digest: See `ResumePoint`.
        mixture: The result of `MixtureParts.state`.
        step: See `ResumePoint`.
        left_out: See `ResumePoint`.
    """
    state = {**identity, "place": checkpoints, "digest": digest, "skipped": skipped}
    if mixture is not None:
        state["mixture"] = mixture
    if step is not None:
        state["step"] = step
    if left_out:
        state["left_out"] = list(map(list, left_out))
    return {**state, "checksum": _checksum(state)}


def resumed(chain: Stages, state: Mapping[str, Any], allow: Collection[str] = ()) -> ResumePoint:
    """Returns the information that a pipeline needs to resume from a state.

    Args:
        chain: The pipeline's stages.
        state: The state of an earlier iteration.
        allow: The differences to allow: "epochs" for the number of epochs, "weights" for the
            weights of a mix, and "parts" for its parts.

    Raises:
        TypeError: If the state is not a dict.
        ValueError: If the state is damaged, is newer than this package, or belongs to a different
            pipeline.
    """
    for what in allow:
        if what not in _ALL_ALLOWED:
            raise ValueError(
                f"resume: allow contains {what!r}, expected only 'epochs', 'weights' and 'parts'."
            )
    check_state(state)
    own = {
        "stages": describe_stages(chain),
        "seeds": [stage.seed for stage in _drawn(chain)],
        **_numbers(chain),
        "files": [None] * sum(source.reads_files for source in all_sources(chain)),
        "functions": [],
    }
    before, state = state, with_parts(chain, state, allow, own)
    check_alike(describe_stages(chain), state["stages"])
    for key, mine in _numbers(chain).items():
        if key not in allow and mine != state[key]:
            raise ValueError(
                f"resume: {_ALLOWED[key]} changed from {_list(state[key])} to {_list(mine)} since "
                f"the state was saved. If this is intended, resume with allow={{{key!r}}}."
            )
    seeds = list(state["seeds"])
    if len(seeds) != len(list(_drawn(chain))):
        raise damaged()
    drawn = _with_seeds(chain, iter(seeds))
    if drawn != chain:
        # Cached examples are in the order of other seeds.
        drawn = _with_empty_caches(drawn)
    mixture = _mixture(chain, before, state)
    is_changed = mixture is not None and mixture.is_changed
    return ResumePoint(
        drawn,
        state["epoch"],
        state["place"],
        CHANGED_MIXTURE_ORDER if is_changed else state["digest"],
        state["files"],
        state["skipped"],
        state["functions"],
        dict(state.get("revisions", {})),
        state.get("contents", []),
        mixture,
        state.get("step"),
        [(start, end) for start, end in state.get("left_out", [])],
    )


def _mixture(
    chain: Sequence[Stage], before: Mapping[str, Any], state: Mapping[str, Any]
) -> MixtureResumePoint | None:
    """Returns the position and the counts from which a mix resumes.

    Args:
        chain: The pipeline's stages.
        before: The original state.
        state: The state adapted to the current parts of the mix.

    Raises:
        ValueError: If the weights or parts have changed and the position is unknown.
    """
    weights, mine = before["weights"], _numbers(chain)["weights"]
    is_changed = weights != mine or state["seeds"] != before["seeds"]
    mixture_state = before.get("mixture")
    if mixture_state is not None:
        # This digest means that the state was saved after a change of the mix and before the next
        # batch. Only the position of the mix itself is valid then.
        is_changed = is_changed or state["digest"] == CHANGED_MIXTURE_ORDER
        mix = mixture_of(source_of(chain))
        is_changed = is_changed or mix is None or mixture_state["names"] != list(mix.called)
    if is_changed and (mixture_state is None or state["weights"][:-1] != mine[:-1]):
        raise ValueError(
            "resume: the weights of mix can change only if mix is the source of the pipeline, "
            "not a part of another combination, and if the state includes its position. Resume "
            "with the same weights."
        )
    if is_changed and mixture_state is not None and mixture_state["place"] is None:
        raise ValueError(
            "resume: the parts and weights of mix cannot change, because a stage after mix, such "
            "as a window, filter, pack or skip_errors, holds examples back. Move that stage into "
            "the parts, or resume with the same parts and weights."
        )
    if is_changed and _has_inner_shard(before["stages"][:1]) != _has_inner_shard(
        describe_stages(chain[:1])
    ):
        raise ValueError(
            "resume: the parts of mix cannot change in this way: a part with its own shard was "
            "added to parts without one, or the last such part was removed. Write shard after "
            "mix, or use the same shard in every part."
        )
    effects = {step.effect for step in steps(chain)}
    if is_changed and {Effect.DIVIDES, Effect.REPEATS} <= effects:
        raise ValueError(
            "resume: the parts and weights of mix cannot change, because epochs and shard follow "
            "mix. Loop over pipe.epoch(n) instead of epochs, or resume with the same parts and "
            "weights."
        )
    return (
        None
        if mixture_state is None
        else MixtureResumePoint(mixture_state["counts"], mixture_state["place"], is_changed)
    )


def _has_inner_shard(words: Sequence[Any]) -> bool:
    """Returns whether the stages described in a state contain a shard."""
    return any(
        word.startswith("shard(") if isinstance(word, str) else _has_inner_shard(word)
        for word in words
    )


def check_files(files: Sequence[Sequence[bytes]], expected: Sequence[list[Any] | None]) -> None:
    """Raises ValueError unless the files of each source match the state.

    It compares their order, their sizes, and their names without directories. `expected` is None
    for sources that are not in the state.
    """
    if len(files) != len(expected):
        raise damaged()
    for paths, expected_digests in zip(files, expected, strict=True):
        if expected_digests is None:
            continue
        count, digests = expected_digests
        if count != len(paths):
            raise ValueError(
                f"resume: the pipeline reads {len(paths)} files{_first(paths)}, but it read "
                f"{count} when the state was saved. Resume with the same files."
            )
        for number, (actual, digest) in enumerate(zip(digests_of(paths)[1], digests, strict=True)):
            if actual != digest:
                group = group_of(paths, number)
                names = " to ".join(dict.fromkeys(map(_name, (group[0], group[-1]))))
                raise ValueError(
                    f"resume: {names}: the name, size or order of the files has changed since "
                    "the state was saved. Resume with the same files."
                )


def check_state(state: Mapping[str, Any]) -> None:
    """Raises an error unless a state is complete and has a version that this package can read.

    Raises:
        TypeError: If the state is not a dict.
        ValueError: If the state is damaged, or too new or too old for this package.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"resume: got {keys_of(state)}, expected a state from Batches.state().")
    version = state.get("version")
    if not {"version", "checksum"} & set(state):
        raise ValueError(
            f"resume: got {keys_of(state)}, expected a state from Batches.state(). {_remedy(state)}"
        )
    if isinstance(version, int) and version > _VERSION:
        raise ValueError(
            f"resume: the state has version {version}, but this version of headrace reads states "
            f"only up to version {_VERSION}. Update headrace."
        )
    if isinstance(version, int) and not isinstance(version, bool) and 0 < version < _VERSION:
        raise ValueError(
            f"resume: the state has version {version}, but this version of headrace reads only "
            f"states of version {_VERSION}. Resume with the version of headrace that saved it, or "
            "start from the beginning."
        )
    # These entries are optional: "revisions" for data sets on the hub, "contents" for functions
    # that depend on files, "mixture" for a mix, "step", and "left_out" for batches.
    optional = ("revisions", "contents", "mixture", "step", "left_out")
    keys = (*_KEYS, *(key for key in optional if key in state))
    content = {key: state.get(key) for key in keys}
    try:
        is_whole = (
            version == _VERSION
            and set(state) == {*keys, "checksum"}
            and _has_types(content)
            and state["checksum"] == _checksum(content)
        )
    except RecursionError:
        is_whole = False
    if not is_whole:
        raise damaged()


def state_text(state: Mapping[str, Any]) -> str:
    """Returns a state as text, for checkpoints that cannot store nested data."""
    return json.dumps(state, separators=(",", ":"))


def state_from_text(text: str) -> dict[str, Any]:
    """Decodes a result of `state_text`. Raises ValueError if it is damaged."""
    try:
        state: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise damaged() from error
    return state


def keys_of(value: object) -> str:
    """Describes a value that is not a state, for messages."""
    if not isinstance(value, Mapping):
        return reprlib.repr(value)
    keys = list(map(reprlib.repr, value))
    shown = ", ".join(keys[:_MOST_KEYS]) + (", …" if len(keys) > _MOST_KEYS else "")
    return f"a dict with the keys {shown}" if keys else "an empty dict"


def _remedy(other: Mapping[str, Any]) -> str:
    """Suggests a remedy for a dict that is not a state."""
    for key, value in other.items():
        if isinstance(value, Mapping) and {"version", "checksum"} <= set(value):
            return f"Its entry {key!r} is such a state: resume(checkpoint[{key!r}])."
    if {"epoch", "batches"} <= set(other):
        return "It is the state of a to_torch() loader, so pass it to the loader's load_state_dict."
    return "If it is a whole checkpoint, pass the entry for the data."


def _has_types(content: Mapping[str, Any]) -> bool:
    """Returns whether the values of a state have the expected types."""
    lists = (content["files"], content["seeds"], content["place"])
    return (
        all(isinstance(value, list) for value in lists)
        and is_valid(content["stages"])
        and _is_number(content["epoch"])
        and all(map(_is_number, content["seeds"]))
        and is_report(content["skipped"])
        and ("mixture" not in content or is_mixture_state(content["mixture"]))
        and _is_number(content.get("step", 0))
        and isinstance(content.get("left_out", []), list)
        and all(_are_numbers(steps, 2) for steps in content.get("left_out", []))
        and (content["digest"] is None or _are_numbers(content["digest"], 5))
        and isinstance(content["functions"], list)
        and all(text is None or isinstance(text, str) for text in content["functions"])
        and are_revisions(content.get("revisions", {}))
        and are_contents(content.get("contents", []))
        and all(
            isinstance(source, list)
            and len(source) == 2
            and isinstance(source[0], int)
            and isinstance(source[1], list)
            and len(source[1]) == min(source[0], MOST_DIGESTS)
            for source in content["files"]
        )
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _are_numbers(value: object, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(map(_is_number, value))


def damaged() -> ValueError:
    """Returns the error for a state that `Batches.state` did not return."""
    return ValueError(
        "resume: the state is damaged: it was cut short or edited. Use another state from "
        "Batches.state()."
    )


def _checksum(content: Mapping[str, Any]) -> int:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
    return zlib.crc32(text.encode())


def _drawn(chain: Sequence[Stage]) -> Iterator[Any]:
    """Yields the stages that have a seed."""
    return (stage for stage in all_stages(chain) if getattr(stage, "seed", None) is not None)


def _numbers(chain: Sequence[Stage]) -> dict[str, list[Any]]:
    """Returns the values that `allow` permits to differ, by the keys of `_ALLOWED`."""
    return {
        "epochs": [
            cast("Epochs", step).count for step in all_steps(chain) if step.effect is Effect.REPEATS
        ],
        "weights": [weights_of(mix) for mix in map(mixture_of, all_sources(chain)) if mix],
    }


def _list(values: object) -> str:
    return ", ".join(map(repr, values)) if isinstance(values, list) else repr(values)


def _with_seeds(chain: Stages, seeds: Iterator[int]) -> Stages:
    """Returns the stages with a state's seeds. Seeds set by the user must match them."""
    source = chain[0]
    if parts := source.parts:
        seeded = tuple(_with_seeds(part, seeds) for part in parts)
        source = replace(cast("Any", source), parts=seeded)
    return tuple(_with_seed(stage, seeds) for stage in (source, *chain[1:]))


def _with_seed(stage: Stage, seeds: Iterator[int]) -> Stage:
    mine = getattr(stage, "seed", None)
    if mine is None:
        return stage
    seed = next(seeds)
    if getattr(stage, "is_seed_given", True) and mine != seed:
        raise ValueError(
            f"resume: the seed of {stage.name} is {mine}, but it was {seed} when the state was "
            "saved. Resume with the same seed, or remove the seed."
        )
    return cast("Stage", replace(cast("Any", stage), seed=seed))


def _with_empty_caches(chain: Stages) -> Stages:
    """Returns the stages with empty caches."""
    source = chain[0]
    if parts := source.parts:
        source = replace(cast("Any", source), parts=tuple(map(_with_empty_caches, parts)))
    emptied = (
        replace(cast("Cache", step), kept=CachedExamples()) if step.effect is Effect.KEEPS else step
        for step in steps(chain)
    )
    return (source, *emptied)


def _name(path: bytes) -> str:
    return os.fsdecode(os.path.basename(path))


def _first(paths: Sequence[bytes]) -> str:
    return f" (the first is {_name(paths[0])})" if paths else ""
