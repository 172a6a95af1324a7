"""The state of an iteration, with which a pipeline continues where another one stopped.

A state is plain data that `json` accepts: a version, the pipeline in words, digests of its files,
its seeds, the epoch, and its place, which is the checkpoints of the engine (see `checkpoint.rs`
there).
"""

import hashlib
import json
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeAlias, cast

from headrace.io.storage import sizes
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.source import Source
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.plan.functions.function_state import keeps_state
from headrace.pipeline.plan.functions.python_functions import name_of
from headrace.pipeline.run.mixing.parts import (
    CUT_PASS,
    MixtureResumed,
    all_stages,
    is_mixture_state,
    weights_of,
    with_parts,
)
from headrace.pipeline.run.revisions import are_contents, are_revisions
from headrace.pipeline.run.skipped import is_report

__all__ = [
    "Resumed",
    "check_files",
    "check_state",
    "damaged",
    "identity_of",
    "num_described",
    "order_of",
    "resumed",
    "state_of",
]

# The version of the format of states. Any change of the meaning of a place needs a new one.
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
# Differences that may be allowed: for each key of states, the field and its stages.
_ALLOWED: Final = {"epochs": "the number of epochs", "weights": "the weights of mix"}
_ALL_ALLOWED: Final = ("epochs", "weights", "parts")
# Parts of a description that do not affect the examples, or are checked elsewhere.
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
)
# Longer descriptions of a stage are replaced by a digest.
_MOST_LETTERS: Final = 40
# A shuffle over a window, in old states, whose files are read one by one, in their order.
_IN_ORDER: Final = re.compile(r"shuffle\((\d+)\)")
# The most digests for the files of a source: one for each file, or one for each group of
# neighbours.
_MOST_DIGESTS: Final = 32
_DIGEST_BYTES: Final = 3

# A stage as text; for a source that combines pipelines, its text and those of their stages.
Words: TypeAlias = "str | list[Any]"


@dataclass(frozen=True)
class Resumed:
    """The data that a pipeline resumes with.

    Attributes:
        chain: Its stages, with the seeds of the state where the program gave none.
        epoch: The number of the epoch that was begun.
        place: The place in that epoch, for the engine.
        digest: The digest of the global order up to there, for the engine, behind the number of the
            stages that make that order. None if there is no such order.
        files: The digests of the files of each source.
        skipped: The examples skipped before.
        functions: The states of Python functions at the beginning of the epoch, as texts; None for
            functions that keep none.
        revisions: The commits of the hub's data sets, by how the pipeline names them.
        contents: The files that native functions are made from, with digests.
        mixture: The place and the counts of a mixture; None if the source is not a mixture.
    """

    chain: tuple[Stage, ...]
    epoch: int
    place: list[Any]
    digest: list[int] | None
    files: list[list[Any] | None]
    skipped: list[Any]
    functions: list[str | None]
    revisions: dict[str, str]
    contents: list[list[str]]
    mixture: MixtureResumed | None = None


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
        chain: The stages of the pipeline.
        files: The files of each of its sources.
        epoch: The number of its epoch.
        functions: The states of Python functions at its beginning, as texts.
        revisions: The commits of the hub's data sets, by how the pipeline names them.
        contents: The files that native functions are made from, with digests.
    """
    return {
        "version": _VERSION,
        "stages": _words(chain),
        "files": [_digests(paths) for paths in files],
        "seeds": [stage.seed for stage in _drawn(chain)],
        **_numbers(chain),
        "epoch": epoch,
        "functions": list(functions),
        **({"revisions": dict(revisions)} if revisions else {}),
        **({"contents": contents} if contents else {}),
    }


def order_of(chain: Sequence[Stage]) -> list[Any]:
    """Returns the description of a global order, apart from the files.

    Args:
        chain: The stages that make it.
    """
    return [_words(chain), [stage.seed for stage in _drawn(chain)], _numbers(chain)["weights"]]


def num_described(chain: Sequence[Stage]) -> int:
    """Returns the number of entries that a state has for these stages."""
    return len(_words(chain))


def state_of(
    identity: Mapping[str, Any],
    place: list[Any],
    skipped: list[Any],
    digest: list[int] | None = None,
    mixture: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the state of an iteration.

    Args:
        identity: The result of `identity_of` for it.
        place: Its place, from the engine.
        skipped: The examples skipped before, from `Report.state`.
        digest: See `Resumed`.
        mixture: The result of `MixtureParts.state`.
    """
    state = {**identity, "place": place, "digest": digest, "skipped": skipped}
    if mixture is not None:
        state["mixture"] = mixture
    return {**state, "checksum": _checksum(state)}


def resumed(
    chain: tuple[Stage, ...], state: Mapping[str, Any], allow: Collection[str] = ()
) -> Resumed:
    """Returns the data with which a pipeline continues from a state.

    Args:
        chain: The stages of the pipeline.
        state: The state of another iteration.
        allow: Permitted differences: "epochs" for their number, "weights" for the weights of a mix,
            "parts" for its parts.

    Raises:
        TypeError: If the state is not a dict.
        ValueError: If it is damaged, newer than this package, or of another pipeline.
    """
    for what in allow:
        if what not in _ALL_ALLOWED:
            raise ValueError(
                f"resume: allow has {what!r}, expected 'epochs', 'weights' and 'parts' alone."
            )
    check_state(state)
    own = {
        "stages": _words(chain),
        "seeds": [stage.seed for stage in _drawn(chain)],
        **_numbers(chain),
        "files": [None] * sum(map(_has_files, all_stages(chain))),
        "functions": [],
    }
    before, state = state, with_parts(chain, state, allow, own)
    _check_alike(_words(chain), state["stages"])
    for key, mine in _numbers(chain).items():
        if key not in allow and mine != state[key]:
            raise ValueError(
                f"resume: {_ALLOWED[key]}: {_list(mine)}, but {_list(state[key])} in the pipeline "
                f"that the state was taken with. If that is wanted, resume with allow={{{key!r}}}."
            )
    seeds = list(state["seeds"])
    if len(seeds) != len(list(_drawn(chain))):
        raise damaged()
    drawn = _with_seeds(chain, iter(seeds))
    if drawn != chain:
        # Cached examples have the order of other seeds.
        drawn = _with_empty_caches(drawn)
    mixture = _mixture(chain, before, state)
    is_changed = mixture is not None and mixture.is_changed
    return Resumed(
        drawn,
        state["epoch"],
        state["place"],
        [0, CUT_PASS, 0, 0, 0] if is_changed else state["digest"],
        state["files"],
        state["skipped"],
        state["functions"],
        dict(state.get("revisions", {})),
        state.get("contents", []),
        mixture,
    )


def _mixture(
    chain: Sequence[Stage], before: Mapping[str, Any], state: Mapping[str, Any]
) -> MixtureResumed | None:
    """Returns the place and the counts with which a mixture continues.

    Args:
        chain: The stages of the pipeline.
        before: The state as it was given.
        state: The state adapted to the current parts of the mixture.

    Raises:
        ValueError: If its weights or parts have changed, and its place is not known.
    """
    weights, mine = before["weights"], _numbers(chain)["weights"]
    is_changed = weights != mine or state["seeds"] != before["seeds"]
    found = before.get("mixture")
    if found is not None:
        is_changed = is_changed or found["names"] != list(cast(stages.Mix, chain[0]).called)
    if is_changed and (found is None or state["weights"][:-1] != mine[:-1]):
        raise ValueError(
            "resume: the weights of a mix may differ only if it is the source of the pipeline, not "
            "a part of another one, and the state says where it is. Resume with the same weights."
        )
    if is_changed and found is not None and found["place"] is None:
        raise ValueError(
            "resume: the parts and weights of mix cannot be others than in the pipeline that the "
            "state was taken with, since a stage behind mix holds examples back, as a window, "
            "filter, pack or skip_errors does. Write that stage into the parts, or resume with the "
            "same ones."
        )
    kinds = {type(stage) for stage in chain[1:]}
    if is_changed and {stages.Epochs, stages.Shard} <= kinds:
        raise ValueError(
            "resume: the parts and weights of mix cannot be others than in the pipeline that the "
            "state was taken with, since epochs and shard stand behind mix. Loop over "
            "pipe.epoch(n) instead of epochs, or resume with the same ones."
        )
    return None if found is None else MixtureResumed(found["counts"], found["place"], is_changed)


def _has_files(stage: Stage) -> bool:
    return isinstance(stage, (stages.Files, Source))


def check_files(files: Sequence[Sequence[bytes]], expected: Sequence[list[Any] | None]) -> None:
    """Raises ValueError unless the files of each source are those of the state.

    Their names without directories, their order and their sizes are compared. `expected` has None
    for sources that are not in the state.
    """
    if len(files) != len(expected):
        raise damaged()
    for paths, known in zip(files, expected, strict=True):
        if known is None:
            continue
        count, digests = known
        if count != len(paths):
            raise ValueError(
                f"resume: there are {len(paths)} files, {_first(paths)}, but the state was taken "
                f"with {count}. Resume with the same files."
            )
        for number, (found, digest) in enumerate(zip(_digests(paths)[1], digests, strict=True)):
            if found != digest:
                group = _group(paths, number)
                names = " to ".join(dict.fromkeys(map(_name, (group[0], group[-1]))))
                raise ValueError(
                    f"resume: {names} is not what the state was taken with: the name, the size or "
                    "the order of files differs. Resume with the same files."
                )


def check_state(state: Mapping[str, Any]) -> None:
    """Raises unless a state is whole, and of a version that this package reads.

    Raises:
        TypeError: If it is not a dict.
        ValueError: If it is damaged, or newer or older than this package can read.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"resume: got {state!r}, expected a state, as Batches.state() gives it.")
    version = state.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise ValueError(
            f"resume: the state has version {version}, but this headrace reads states up to "
            f"version {_VERSION}. Update headrace."
        )
    if isinstance(version, int) and not isinstance(version, bool) and 0 < version < _VERSION:
        raise ValueError(
            f"resume: the state has version {version}, but this headrace reads states of version "
            f"{_VERSION} alone. Resume with the headrace that wrote it, or begin anew."
        )
    # Only states of pipelines over the hub have commits, of functions that are made from files what
    # those hold, and of mixtures their parts.
    optional = ("revisions", "contents", "mixture")
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


def _has_types(content: Mapping[str, Any]) -> bool:
    """Returns whether the values of a state have the types that this module expects."""
    lists = (content["files"], content["seeds"], content["place"])
    return (
        all(isinstance(value, list) for value in lists)
        and _are_words(content["stages"])
        and _is_number(content["epoch"])
        and all(map(_is_number, content["seeds"]))
        and is_report(content["skipped"])
        and ("mixture" not in content or is_mixture_state(content["mixture"]))
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
            and len(source[1]) == min(source[0], _MOST_DIGESTS)
            for source in content["files"]
        )
    )


def _are_words(value: object) -> bool:
    """Returns whether a value has the form of a result of `_words`."""
    return isinstance(value, list) and all(
        isinstance(one, str)
        or (
            isinstance(one, list)
            and one
            and isinstance(one[0], str)
            and all(map(_are_words, one[1:]))
        )
        for one in value
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _are_numbers(value: object, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(map(_is_number, value))


def damaged() -> ValueError:
    """Returns the error for a state that is not a result of `Batches.state`."""
    return ValueError(
        "resume: the state is damaged: it was cut short or edited. Use another one, as "
        "Batches.state() gave it."
    )


def _checksum(content: Mapping[str, Any]) -> int:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
    return zlib.crc32(text.encode())


def _check_alike(mine: Sequence[Words], other: Sequence[Words], where: str = "") -> None:
    for number, (one, another) in enumerate(zip(mine, other, strict=False)):
        place = f"{where}stage {number}"
        if isinstance(one, list) and isinstance(another, list) and one[0] == another[0]:
            for part, (inner, outer) in enumerate(zip(one[1:], another[1:], strict=False)):
                _check_alike(inner, outer, f"in part {part} of {place}, ")
        if one != another:
            raise ValueError(
                f"resume: {place} is {_shown(one)}, but {_shown(another)} in the pipeline that the "
                f"state was taken with. {_remedy(one, another)}"
            )
    if len(mine) != len(other):
        more, fewer = max(mine, other, key=len), min(len(mine), len(other))
        whose = "this pipeline" if more is mine else "the pipeline that the state was taken with"
        raise ValueError(
            f"resume: {where}{whose} has {_shown(more[fewer])} behind stage {fewer - 1}, and the "
            "other has not. Resume with the same pipeline."
        )


def _remedy(one: Words, another: Words) -> str:
    shards = [_shown(words) for words in (one, another)]
    if all(text.startswith("shard(") and "piece" in text for text in shards):
        return (
            "With by='piece' each rank has files of its own, and how far the others have come in "
            "theirs is not known. Resume with the same rank and number of ranks, or begin an epoch "
            "with others, as epoch(e)."
        )
    if all(text.startswith("shard(") for text in shards):
        return (
            "Resume with the same shard. A state serves other shards where shard stands in no part "
            "of a mix, concat or zip, and only map of functions without a state, parse, select, "
            "rename, batches and one epochs follow it."
        )
    if any(_shown(words).endswith(" processes") for words in (one, another)):
        return (
            "Two or more processes of iterable yield a part each, so a state serves their number "
            "alone. Resume with the same num_processes."
        )
    if _shown(one).startswith("shuffle") and (old := _IN_ORDER.fullmatch(_shown(another))):
        return (
            "Its window read the files in their order, as all windows did before headrace permuted "
            f"files. Resume with shuffle(window={old[1]}, num_open=1, files='in order'), and the "
            "same seed."
        )
    return "Resume with the same pipeline."


def _shown(words: Words) -> str:
    return words if isinstance(words, str) else str(words[0])


def _words(chain: Sequence[Stage], is_part: bool = False) -> list[Words]:
    """Returns short descriptions of the stages.

    Args:
        chain: The stages of a pipeline.
        is_part: Whether it is a part of others. Its shards keep their number: the number of
            examples that another rank has drawn from a part is unknown, since it depends on the
            draws and lengths.
    """
    shards = (
        index
        for index, stage in enumerate(chain)
        if isinstance(stage, stages.Shard) and stage.by == "example"
    )
    elastic = next(
        (index for index in shards if not is_part and _is_elastic(chain[index + 1 :])), len(chain)
    )
    fixed = elastic + _num_fixed(chain[elastic:])
    return [
        _words_of(stage, index >= elastic, index < fixed)
        for index, stage in enumerate(chain)
        if not isinstance(stage, stages.Prefetch)
    ]


def _words_of(stage: Stage, is_elastic: bool, is_size_fixed: bool) -> Words:
    """Returns a short description of a stage.

    Args:
        stage: The stage.
        is_elastic: Whether it is a `shard` whose number may change, or follows one.
        is_size_fixed: Whether batches must keep their size.
    """
    left_out = _LEFT_OUT
    match stage:
        case stages.Shard(even=even) if is_elastic:
            return "shard" if even is None else f"shard(even={even!r})"
        case stages.Batch() | stages.PaddedBatch() if not is_size_fixed:
            left_out = (*_LEFT_OUT, "size")
        case stages.Epochs():
            left_out = (*_LEFT_OUT, "count")
    match stage:
        case stages.Arrays():
            text = str(stage)
        case _:
            shown = [
                _text(value)
                for item in fields(cast("Any", stage))
                if item.compare
                and item.repr
                and item.name not in left_out
                and (value := getattr(stage, item.name)) != item.default
            ]
            text = f"{stage.name}({', '.join(shown)})"
    if len(text) > _MOST_LETTERS:
        text = f"{stage.name}#{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    if isinstance(stage, stages.Map) and keeps_state(stage.function):
        text += " with a state"
    if isinstance(stage, stages.Iterable_) and stage.num_processes > 1:
        # Each process yields a part, so another number would give another order.
        text += f" in {stage.num_processes} processes"
    parts = stages.parts_of(stage)
    return [text, *(_words(part, is_part=True) for part in parts)] if parts else text


def _text(value: object) -> str:
    """Returns a value of a stage as text, which is the same in another process."""
    if callable(value) and not isinstance(value, type):
        return name_of(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return stages.text(value)


def _is_elastic(after: Sequence[Stage]) -> bool:
    """Returns whether the stages after `shard` allow a resume with another number of shards.

    No stage may follow that makes more or fewer examples, keeps some of them waiting, or has a
    state of its own, which only one rank knows.
    """
    kept = (
        stages.Map,
        stages.Parse,
        stages.Select,
        stages.Rename,
        stages.Batch,
        stages.PaddedBatch,
        stages.Epochs,
        stages.Prefetch,
    )
    functions = (stage.function for stage in after if isinstance(stage, stages.Map))
    return (
        all(isinstance(stage, kept) for stage in after)
        and not any(map(keeps_state, functions))
        and sum(isinstance(stage, stages.Epochs) for stage in after) <= 1
    )


def _num_fixed(elastic: Sequence[Stage]) -> int:
    """Returns the number of stages, from an elastic `shard` on, whose batch size is fixed.

    A batch after `epochs` may begin in one epoch and end in another. Then the batches before
    `epochs` must have had the same size.
    """
    epochs = next((n for n, stage in enumerate(elastic) if isinstance(stage, stages.Epochs)), 0)
    batches = (stages.Batch, stages.PaddedBatch)
    return epochs if any(isinstance(stage, batches) for stage in elastic[epochs:]) else 0


def _drawn(chain: Sequence[Stage]) -> Iterator[Any]:
    """Yields the stages that have a seed."""
    return (stage for stage in all_stages(chain) if getattr(stage, "seed", None) is not None)


def _numbers(chain: Sequence[Stage]) -> dict[str, list[Any]]:
    """Returns the values that may differ if `allow` says so, by the keys of `_ALLOWED`."""
    return {
        "epochs": [stage.count for stage in all_stages(chain) if isinstance(stage, stages.Epochs)],
        "weights": [
            weights_of(stage) for stage in all_stages(chain) if isinstance(stage, stages.Mix)
        ],
    }


def _list(values: object) -> str:
    return ", ".join(map(repr, values)) if isinstance(values, list) else repr(values)


def _with_seeds(chain: tuple[Stage, ...], seeds: Iterator[int]) -> tuple[Stage, ...]:
    """Returns stages with the seeds of a state, which must equal those that the program gave."""
    source = chain[0]
    if parts := stages.parts_of(source):
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
            f"resume: the seed of {stage.name} is {mine}, but {seed} in the pipeline that the "
            "state was taken with. Resume with the same seed, or leave it out."
        )
    return cast("Stage", replace(cast("Any", stage), seed=seed))


def _with_empty_caches(chain: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Returns stages with empty caches."""
    source = chain[0]
    if parts := stages.parts_of(source):
        source = replace(cast("Any", source), parts=tuple(map(_with_empty_caches, parts)))
    emptied = (stages.Cache() if isinstance(stage, stages.Cache) else stage for stage in chain[1:])
    return (source, *emptied)


def _digests(paths: Sequence[bytes]) -> list[Any]:
    """Returns the number of files, and digests of their names and sizes."""
    count = min(len(paths), _MOST_DIGESTS)
    return [len(paths), [_digest(_group(paths, number)) for number in range(count)]]


def _group(paths: Sequence[bytes], number: int) -> Sequence[bytes]:
    """Returns the neighbouring files that have digest `number`."""
    count = min(len(paths), _MOST_DIGESTS)
    return paths[number * len(paths) // count : (number + 1) * len(paths) // count]


def _digest(paths: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for path, size in zip(paths, sizes(map(os.fsdecode, paths)), strict=True):
        name = os.path.basename(path)
        digest.update(b"%d:%b%d;" % (len(name), name, size))
    return digest.digest()[:_DIGEST_BYTES].hex()


def _name(path: bytes) -> str:
    return os.fsdecode(os.path.basename(path))


def _first(paths: Sequence[bytes]) -> str:
    return f"{_name(paths[0])} the first" if paths else "none"
