"""A drawn source: its pipeline, and its examples."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.pipeline.generated.model import Example
from tests.pipeline.generated.source_files import NUMBERS

import headrace as hr

MANY = 10_000
# Who waits longer than this waits for ever.
_PATIENCE_S = 30


@dataclass(frozen=True)
class Source:
    """A source of examples.

    Attributes:
        text: What it is.
        begin: Makes the pipeline, of the directory with files.
        examples: What comes out of it.
        names: The components of each.
        seed: That of a shuffle of all examples.
        lost: The numbers that are dropped behind it.
        sizes: How many examples each file has; None without files.
        ending: That of the files if they have pieces; empty if each file is one piece.
        kind: The word for it that tests count; empty for the first word of the text.
        places: The numbers of the file and the record of each example, if they are known.
        pace: Holds examples back that are not needed yet; None for what does not wait.
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
    places: Sequence[tuple[int, int]] | None = None
    pace: "Pace | None" = None


# Words for sources that not every stage can follow.
ONCE = "iterable once"
SPLIT = "split"
IN_PROCESSES = "iterable in processes"


class Pace:
    """The number of examples that an iterator may give; it waits for more."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._most = MANY

    def allow(self, most: int) -> None:
        """Allows so many examples altogether."""
        with self._changed:
            self._most = most
            self._changed.notify_all()

    def wait(self, number: int) -> None:
        """Waits until the example `number`, counted from 0, is allowed."""
        with self._changed:
            if not self._changed.wait_for(lambda: number < self._most, _PATIENCE_S):
                raise TimeoutError(f"the next item needs example {number}, expected fewer")
