"""File versions in states: commits of data sets on the hub, and digests of contents.

An iteration reads one commit of a data set. It resumes only if the files that native functions
depend on have the same contents.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from headrace.io import storage
from headrace.pipeline.stages.stage import Stage

__all__ = [
    "are_contents",
    "are_revisions",
    "check_contents",
    "contents_of",
    "pinned",
    "revisions_of",
]

# A data set with a revision. A revision of 40 digits is a commit.
_DATA_SET: Final = re.compile(
    r"(?i:hf)://datasets/[^/]+/[^/@]+(?:@(?:refs/(?:convert|pr)/[^/]+|[^/]+))?(?=/|$)"
)
_COMMIT: Final = re.compile(r"@[0-9a-f]{40}$")
# The beginning of the name of weights that `sample` has read.
_SAMPLE: Final = "sample("
# The beginning of the name of episodes that have been found for `windows`.
_WINDOWS: Final = "windows("


def revisions_of(chain: Sequence[Stage]) -> dict[str, str]:
    """Returns the commit of each data set on the hub, by the name that the sources use.

    Raises:
        OpError: If the hub cannot be reached.
    """
    named = {match[0] for path in _paths(chain) if (match := _DATA_SET.match(path)) is not None}
    open_ones = sorted(name for name in named if _COMMIT.search(name) is None)
    return {name: commit for name in open_ones if (commit := storage.revision(name)) is not None}


def pinned(chain: Sequence[Stage], revisions: Mapping[str, str]) -> Sequence[Stage]:
    """Returns stages whose sources refer to specific commits.

    Args:
        chain: The stages.
        revisions: The commit of each data set, by the name that the sources use.
    """
    if not revisions:
        return chain
    source = cast("Any", chain[0])
    if parts := source.parts:
        source = replace(source, parts=tuple(tuple(pinned(part, revisions)) for part in parts))
    elif any(_paths([source])):
        source = replace(source, paths=tuple(_pinned(path, revisions) for path in source.paths))
    return [source, *chain[1:]]


def are_revisions(value: object) -> bool:
    """Returns whether a value has the structure of a result of `revisions_of`."""
    return isinstance(value, Mapping) and all(
        isinstance(text, str) for pair in value.items() for text in pair
    )


def _pinned(path: str, revisions: Mapping[str, str]) -> str:
    match = _DATA_SET.match(path)
    if match is None or match[0] not in revisions:
        return path
    name, _, _ = match[0].partition("@")
    return f"{name}@{revisions[match[0]]}{path[match.end() :]}"


def _paths(chain: Sequence[Stage]) -> Iterator[str]:
    for part in chain[0].parts:
        yield from _paths(part)
    paths = getattr(chain[0], "paths", ())
    yield from (path for path in paths if isinstance(path, str))


def contents_of(contents: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Returns the data that states store about the files that native functions depend on.

    Args:
        contents: The file names without directories, and the digests of the files' contents.
    """
    return sorted(map(list, dict.fromkeys(contents)))


def check_contents(
    mine: Sequence[Sequence[str]], expected_contents: Sequence[Sequence[str]], is_changed: bool
) -> None:
    """Raises ValueError unless files have the same contents as when the state was saved.

    Args:
        mine: The result of `contents_of` for this pipeline.
        expected_contents: The result that is stored in the state.
        is_changed: Whether the pipeline is a mix that may have other parts.
    """
    digests, others = _by_name(mine), _by_name(expected_contents)
    for name in sorted(digests.keys() & others.keys()):
        digest, expected = digests[name], others[name]
        is_part = digest <= expected or expected <= digest
        if not is_part or (digest != expected and not is_changed):
            if name.startswith(_SAMPLE):
                raise ValueError(
                    f"resume: the weights of {name} have changed since the state was saved. Resume "
                    "with the original data, or start from the beginning."
                )
            if name.startswith(_WINDOWS):
                raise ValueError(
                    f"resume: the episodes of {name} have changed since the state was saved. "
                    "Resume with the original data, or start from the beginning."
                )
            raise ValueError(
                f"resume: the content of {name}, which a native function uses, has changed since "
                "the state was saved. Resume with the original file, or start from the beginning."
            )
    if digests.keys() != others.keys() and not is_changed:
        raise ValueError(
            f"resume: the native functions use {_list(digests)}, but they used {_list(others)} "
            "when the state was saved. Resume with the same functions."
        )


def are_contents(value: object) -> bool:
    """Returns whether a value has the structure of a result of `contents_of`."""
    return isinstance(value, list) and all(
        isinstance(one, list) and len(one) == 2 and all(isinstance(text, str) for text in one)
        for one in value
    )


def _by_name(contents: Sequence[Sequence[str]]) -> dict[str, set[str]]:
    digests: dict[str, set[str]] = {}
    for name, digest in contents:
        digests.setdefault(name, set()).add(digest)
    return digests


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "no file"
