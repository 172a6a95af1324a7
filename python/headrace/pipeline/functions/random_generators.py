"""Random draws of Python functions: a generator for each example, in any order of calls."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISpawnableSeedSequence, SeedSequence

__all__ = ["Draws", "Generators"]


class _RowSeed(ISpawnableSeedSequence):
    """The key of a generator, and the seeds of those that are spawned from it.

    A generator without a seed sequence cannot spawn others, and asks the system for random bytes,
    which is slow.

    Attributes:
        row_id: The epoch, the record, the file, and the number within the record.
    """

    def __init__(self, seed: int, row_id: tuple[int, int, int, int]) -> None:
        self._seed = seed
        self.row_id = row_id
        self._spawning: SeedSequence | None = None

    def generate_state(
        self, n_words: int, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[np.uint32 | np.uint64]:
        """Returns the key."""
        return self._words()[:n_words]

    def spawn(self, n_children: int) -> list[SeedSequence]:  # type: ignore[override]
        """Returns seeds that depend on the row id alone, and others with each call."""
        if self._spawning is None:
            self._spawning = SeedSequence(self._words().view(np.uint32).tolist())
        return self._spawning.spawn(n_children)

    def move(self, row_id: tuple[int, int, int, int]) -> None:
        """Sets the key to that of another row of the same seed."""
        self.row_id = row_id
        self._spawning = None

    def _words(self) -> npt.NDArray[np.uint64]:
        return np.array([self._seed, *self.row_id], np.uint64)


class Draws:
    """The generators that belong to one seed.

    A counter-based generator has 2^64 streams of draws for each of these numbers: the epoch is part
    of its key, the rest of the row id is the upper part of its counter. So examples never share
    draws, and draws do not depend on earlier ones.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).

    Args:
        seed: From 0 to 2^63 - 1.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def of(self, row_ids: npt.NDArray[np.uint64]) -> Iterator[np.random.Generator]:
        """Yields the generator of each row id: epoch, record, file, and number within the record.

        A generator is reused for the next row, unless the function has kept a reference to it.
        """
        generators = Generators(self._seed)
        for row_id in row_ids.tolist():
            yield generators.at(*row_id)


class Generators:
    """Generators of one seed, for one thread.

    A generator is reused for the next row, since a new one takes six times as long. But a
    generator that a function has kept is not changed.

    Args:
        seed: See `Draws`.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._row_seed: _RowSeed | None = None
        self._num_holders = (0, 0, 0)

    def at(self, epoch: int, record: int, file: int, part: int) -> np.random.Generator:
        """Returns the generator of one row."""
        row_id = (epoch, record, file, part)
        if self._row_seed is None or self._holders() != self._num_holders:
            self._make(row_id)
            # Counted after the call, whose own references are gone.
            self._num_holders = self._holders()
            return self._generator
        self._row_seed.move(row_id)
        # The whole state is set, including numbers that are drawn ahead.
        self._key[1] = epoch
        self._counter[1], self._counter[2], self._counter[3] = record, file, part
        self._philox.state = self._state
        return self._generator

    def _make(self, row_id: tuple[int, int, int, int]) -> None:
        counter = np.array([0, *row_id[1:]], np.uint64)
        self._row_seed = _RowSeed(self._seed, row_id)
        sequence: Any = self._row_seed  # NumPy's annotations lack a documented attribute.
        self._philox = np.random.Philox(sequence, counter=counter)
        self._generator = np.random.Generator(self._philox)
        self._state: Any = self._philox.state
        self._key = self._state["state"]["key"]
        self._counter = self._state["state"]["counter"]

    def _holders(self) -> tuple[int, int, int]:
        """Returns the numbers of references to the objects of the generator."""
        count = sys.getrefcount
        return count(self._generator), count(self._philox), count(self._row_seed)
