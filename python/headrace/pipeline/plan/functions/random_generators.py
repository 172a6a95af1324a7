"""Random draws of Python functions: a generator for each example, in any order of calls."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISpawnableSeedSequence, SeedSequence

__all__ = ["Draws", "Generators"]


class _Place(ISpawnableSeedSequence):
    """The key of a generator, and the seeds of those that are spawned from it.

    A generator without a seed sequence cannot spawn others, and asks the system for random bytes,
    which is slow.

    Attributes:
        place: The epoch, and the place in that epoch.
    """

    def __init__(self, seed: int, place: tuple[int, int, int, int]) -> None:
        self._seed = seed
        self.place = place
        self._spawning: SeedSequence | None = None

    def generate_state(
        self, n_words: int, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[np.uint32 | np.uint64]:
        """Returns the key."""
        return self._words()[:n_words]

    def spawn(self, n_children: int) -> list[SeedSequence]:  # type: ignore[override]
        """Returns seeds that depend on the place alone, and others with each call."""
        if self._spawning is None:
            self._spawning = SeedSequence(self._words().view(np.uint32).tolist())
        return self._spawning.spawn(n_children)

    def move(self, place: tuple[int, int, int, int]) -> None:
        """Sets the key to that of another place of the same seed."""
        self.place = place
        self._spawning = None

    def _words(self) -> npt.NDArray[np.uint64]:
        return np.array([self._seed, *self.place], np.uint64)


class Draws:
    """The generators that belong to one seed.

    A counter-based generator has 2^64 streams of draws for each of these numbers: the epoch is part
    of its key, the place of the example is the upper part of its counter. So examples never share
    draws, and draws do not depend on earlier ones.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).

    Args:
        seed: From 0 to 2^63 - 1.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def of(self, row_ids: npt.NDArray[np.uint64]) -> Iterator[np.random.Generator]:
        """Yields the generator of each row id: epoch, record, file, and number within the record.

        A generator is reused for the next place, unless the function has kept a reference to it.
        """
        generators = Generators(self._seed)
        for row_id in row_ids.tolist():
            yield generators.at(*row_id)


class Generators:
    """Generators of one seed, for one thread.

    A generator is reused for the next place, since a new one takes six times as long. But a
    generator that a function has kept is not changed.

    Args:
        seed: See `Draws`.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._place: _Place | None = None
        self._num_holders = (0, 0, 0)

    def at(self, epoch: int, record: int, file: int, part: int) -> np.random.Generator:
        """Returns the generator of one place."""
        place = (epoch, record, file, part)
        if self._place is None or self._holders() != self._num_holders:
            self._make(place)
            # Counted after the call, whose own references are gone.
            self._num_holders = self._holders()
            return self._generator
        self._place.move(place)
        # The whole state is set, including numbers that are drawn ahead.
        self._key[1] = epoch
        self._counter[1], self._counter[2], self._counter[3] = record, file, part
        self._philox.state = self._state
        return self._generator

    def _make(self, place: tuple[int, int, int, int]) -> None:
        counter = np.array([0, *place[1:]], np.uint64)
        self._place = _Place(self._seed, place)
        sequence: Any = self._place  # NumPy's annotations lack a documented attribute.
        self._philox = np.random.Philox(sequence, counter=counter)
        self._generator = np.random.Generator(self._philox)
        self._state: Any = self._philox.state
        self._key = self._state["state"]["key"]
        self._counter = self._state["state"]["counter"]

    def _holders(self) -> tuple[int, int, int]:
        """Returns the numbers of references to the objects of the generator."""
        count = sys.getrefcount
        return count(self._generator), count(self._philox), count(self._place)
