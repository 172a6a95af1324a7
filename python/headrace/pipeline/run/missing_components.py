"""Warns about components that no record has, because their names may be misspelt."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Final

from headrace.core import engine

__all__ = ["MissingComponents"]

# With fewer records, a rare component would look like a misspelt one.
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

    def __init__(self, seen_components: Iterable[engine.SeenComponents]) -> None:
        """`seen_components` has one entry for each stage with such components."""
        self._seen_components = list(seen_components)

    def look(self, is_over: bool = False) -> None:
        """Warns if enough records have been read, or if the data has ended."""
        if not self._seen_components:
            return
        waiting = []
        for seen_components in self._seen_components:
            if seen_components.is_done:
                continue
            unseen = seen_components.unseen()
            if unseen is None or (
                unseen.num_records < _LEAST_RECORDS[seen_components.stage] and not is_over
            ):
                waiting.append(seen_components)
            else:
                _warn(seen_components.stage, unseen)
        self._seen_components = waiting


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
