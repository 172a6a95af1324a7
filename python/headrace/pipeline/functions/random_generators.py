"""Random numbers for Python functions: one generator per example, independent of call order."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISpawnableSeedSequence, SeedSequence

__all__ = ["Draws", "Generators"]


class _RowSeed(ISpawnableSeedSequence):
    """The key of a generator, and the seeds of generators spawned from it.

    Without a seed sequence, a generator cannot spawn generators, and NumPy slowly requests random
    bytes from the system.

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
        """Returns seeds that depend only on the row ID. Each call returns different seeds."""
        if self._spawning is None:
            self._spawning = SeedSequence(self._words().view(np.uint32).tolist())
        return self._spawning.spawn(n_children)

    def move(self, row_id: tuple[int, int, int, int]) -> None:
        """Switches to another row's key. The seed stays the same."""
        self.row_id = row_id
        self._spawning = None

    def _words(self) -> npt.NDArray[np.uint64]:
        return np.array([self._seed, *self.row_id], np.uint64)


class Draws:
    """The generators for one seed.

    The generator is counter-based and has a separate stream of 2^64 random numbers for each row.
    The epoch is part of the key, and the rest of the row ID is the upper part of the counter.
    Examples therefore never share random numbers, and the numbers do not depend on earlier
    examples.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).

    Args:
        seed: From 0 to 2^63 - 1.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def of(self, row_ids: npt.NDArray[np.uint64]) -> "Iterator[np.random.Generator]":
        """Yields the generator for each row ID (epoch, record, file, and number within the record).

        A generator is reused for the next row, unless the function kept a reference to it.
        """
        generators = Generators(self._seed)
        for row_id in row_ids.tolist():
            yield generators.at(*row_id)


class Generators:
    """The generators for one seed, for use in one thread.

    A generator is reused for the next row, because creating one takes six times as long. A
    generator that a function has kept is not changed.

    Args:
        seed: See `Draws`.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._row_seed: _RowSeed | None = None
        self._num_holders = (0, 0, 0)

    def at(self, epoch: int, record: int, file: int, part: int) -> "np.random.Generator":
        """Returns the generator for one row."""
        row_id = (epoch, record, file, part)
        if self._row_seed is None or self._holders() != self._num_holders:
            self._make(row_id)
            # References are counted after the call, when the call's own references are gone.
            self._num_holders = self._holders()
            return self._generator
        self._row_seed.move(row_id)
        # This sets the whole state, including numbers drawn in advance.
        self._key[1] = epoch
        self._counter[1], self._counter[2], self._counter[3] = record, file, part
        self._philox.state = self._state
        return self._generator

    def _make(self, row_id: tuple[int, int, int, int]) -> None:
        counter = np.array([0, *row_id[1:]], np.uint64)
        self._row_seed = _RowSeed(self._seed, row_id)
        sequence: Any = self._row_seed  # NumPy's type annotations lack a documented attribute.
        self._philox = np.random.Philox(sequence, counter=counter)
        self._generator = np.random.Generator(self._philox)
        self._state: Any = self._philox.state
        self._key = self._state["state"]["key"]
        self._counter = self._state["state"]["counter"]

    def _holders(self) -> tuple[int, int, int]:
        """Returns the reference counts of the generator's objects."""
        count = sys.getrefcount
        return count(self._generator), count(self._philox), count(self._row_seed)
