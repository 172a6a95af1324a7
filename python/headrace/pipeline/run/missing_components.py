"""Warns about components that no record has, because their names may be misspelt."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Final

from headrace.core import engine

__all__ = ["MissingComponents"]

# If there were fewer records, a rare component would look like a misspelt one.
_LEAST_RECORDS: Final[Mapping[str, int]] = {
    "parse": 1_000,
    "json_lines": 10_000,
    "json_array": 10_000,
}
_WORDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "parse": ("record", "has a feature named {}", "these lists are empty"),
    "json_lines": ("line", "has a value for {}", "they are always null or the default"),
    "json_array": ("record", "has a value for {}", "they are always null or the default"),
}


class MissingComponents:
    """Warns once about optional components that no record had."""

    def __init__(self, sightings: Iterable[engine.Sightings]) -> None:
        """`sightings` has one entry for each stage with such components."""
        self._sightings = list(sightings)

    def look(self, is_over: bool = False) -> None:
        """Warns if enough records have been read, or if the data has ended."""
        if not self._sightings:
            return
        waiting = []
        for sightings in self._sightings:
            if sightings.is_done:
                continue
            unseen = sightings.unseen()
            if unseen is None or (
                unseen.num_records < _LEAST_RECORDS[sightings.stage] and not is_over
            ):
                waiting.append(sightings)
            else:
                _warn(sightings.stage, unseen)
        self._sightings = waiting


def _warn(stage: str, unseen: engine.UnseenComponents) -> None:
    word, has, result = _WORDS[stage]
    num_records = unseen.num_records
    records = f"1 {word}" if num_records == 1 else f"{num_records:,} {word}s"
    listing = ", ".join(map(repr, unseen.names))
    others = ", ".join(map(repr, unseen.present)) or "none"
    warnings.warn(
        f"{stage}: no {word} {has.format(listing)} ({records} read), so {result}. For comparison, "
        f"one {word} has {others}. Correct the names, or remove those that the files do not have.",
        stacklevel=6,
    )
