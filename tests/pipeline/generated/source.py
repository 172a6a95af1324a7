"""A random source: its pipeline, and its examples."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.pipeline.generated.model import Example
from tests.pipeline.generated.source_files import NUMBERS

import headrace as hr

MANY = 10_000
# A longer wait means a deadlock.
_PATIENCE_S = 30


@dataclass(frozen=True)
class Source:
    """A source of examples.

    Attributes:
        text: The source text of the call.
        begin: Makes the pipeline, given the directory with files.
        examples: The examples that it yields.
        names: The components of each.
        seed: The seed of a shuffle of all examples.
        lost: The numbers that are dropped after it.
        sizes: How many examples each file has; None without files.
        ending: The extension of the files if they have pieces; empty if each file is one piece.
        kind: The name by which tests count it; empty for the first word of the text.
        positions: The file number and record number of each example, if known.
        pace: Delays examples that are not needed yet; None for a source that does not wait.
    """

    text: str
    begin: Callable[[Path], hr.Pipeline]
    examples: list[Example]
    names: frozenset[str] = frozenset({"n"})
    seed: int | None = None
    lost: frozenset[int] = frozenset()
    sizes: Sequence[int] | None = tuple(map(len, NUMBERS))
    ending: str = ""
    kind: str = ""
    positions: Sequence[tuple[int, int]] | None = None
    pace: "Pace | None" = None


# Names of sources that not every stage can follow.
ONCE = "iterable once"
SPLIT = "split"
IN_PROCESSES = "iterable in processes"
LARGE_VALUES = "parquet of large values"
COMPRESSED = "compressed"


class Pace:
    """The number of examples that an iterator may yield before it waits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._most = MANY

    def allow(self, most: int) -> None:
        """Allows the given number of examples in total."""
        with self._changed:
            self._most = most
            self._changed.notify_all()

    def wait(self, number: int) -> None:
        """Waits until the example `number`, counted from 0, is allowed."""
        with self._changed:
            if not self._changed.wait_for(lambda: number < self._most, _PATIENCE_S):
                raise TimeoutError(f"the next item needs example {number}, expected fewer")
