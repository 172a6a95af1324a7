"""Commits of the hub's data sets: an iteration reads one commit, which its states name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from headrace.io import storage
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.stages import Stage

__all__ = ["are_revisions", "pinned", "revisions_of"]

# A data set with its revision, which is a commit already if it has 40 digits.
_DATA_SET: Final = re.compile(
    r"(?i:hf)://datasets/[^/]+/[^/@]+(?:@(?:refs/(?:convert|pr)/[^/]+|[^/]+))?(?=/|$)"
)
_COMMIT: Final = re.compile(r"@[0-9a-f]{40}$")


def revisions_of(chain: Sequence[Stage]) -> dict[str, str]:
    """Returns the commit of each data set of the hub, by the name that sources use for it.

    Raises:
        OpError: If the hub cannot be asked.
    """
    named = {found[0] for path in _paths(chain) if (found := _DATA_SET.match(path)) is not None}
    open_ones = sorted(name for name in named if _COMMIT.search(name) is None)
    return {name: commit for name in open_ones if (commit := storage.revision(name)) is not None}


def pinned(chain: Sequence[Stage], revisions: Mapping[str, str]) -> Sequence[Stage]:
    """Returns stages whose sources name commits.

    Args:
        chain: The stages.
        revisions: The commit of each data set, by the name that sources use for it.
    """
    if not revisions:
        return chain
    source = cast("Any", chain[0])
    if parts := stages.parts_of(source):
        source = replace(source, parts=tuple(tuple(pinned(part, revisions)) for part in parts))
    elif any(_paths([source])):
        source = replace(source, paths=tuple(_pinned(path, revisions) for path in source.paths))
    return [source, *chain[1:]]


def are_revisions(value: object) -> bool:
    """Returns whether a value has the form of a result of `revisions_of`."""
    return isinstance(value, Mapping) and all(
        isinstance(text, str) for pair in value.items() for text in pair
    )


def _pinned(path: str, revisions: Mapping[str, str]) -> str:
    found = _DATA_SET.match(path)
    if found is None or found[0] not in revisions:
        return path
    name, _, _ = found[0].partition("@")
    return f"{name}@{revisions[found[0]]}{path[found.end() :]}"


def _paths(chain: Sequence[Stage]) -> Iterator[str]:
    for part in stages.parts_of(chain[0]):
        yield from _paths(part)
    paths = getattr(chain[0], "paths", ())
    yield from (path for path in paths if isinstance(path, str))
