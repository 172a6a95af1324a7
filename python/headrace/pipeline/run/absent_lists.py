"""Warnings of lists that a program parses, but no record has: their names may be misspelt."""

import warnings
from collections.abc import Iterable
from typing import Final

from headrace.core import engine

__all__ = ["Absent"]

# With fewer records, a rare list would look like a misspelt one.
_LEAST_RECORDS: Final = 1000


class Absent:
    """Warns once of lists that no record had."""

    def __init__(self, sightings: Iterable[engine.Sightings]) -> None:
        """`sightings` has one for each `parse` with lists."""
        self._sightings = list(sightings)

    def look(self, is_over: bool = False) -> None:
        """Warns if there were enough records, or no more come."""
        if not self._sightings:
            return
        waiting = []
        for sightings in self._sightings:
            if sightings.is_done:
                continue
            unseen = sightings.unseen()
            if unseen is None or (unseen[0] < _LEAST_RECORDS and not is_over):
                waiting.append(sightings)
            else:
                _warn(*unseen)
        self._sightings = waiting


def _warn(num_records: int, names: list[str], there: list[str]) -> None:
    records = "1 record" if num_records == 1 else f"{num_records:,} records"
    features = ", ".join(map(repr, names))
    others = ", ".join(map(repr, there)) or "none"
    warnings.warn(
        f"parse: of {records}, none has a feature {features}, so such lists are empty; one of the "
        f"records has {others}. Correct the names, or remove those that the files do not have.",
        stacklevel=6,
    )
