"""Random draws of Python functions: a generator for each example, whoever comes first."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISpawnableSeedSequence, SeedSequence

__all__ = ["Draws"]


class _Place(ISpawnableSeedSequence):
    """The key of a generator, and the seeds of those that are spawned from it.

    A generator without such a sequence cannot spawn others, and asks the system for random bytes,
    which takes longer than all else.
    """

    def __init__(self, words: npt.NDArray[np.uint64]) -> None:
        self._words = words
        self._spawning: SeedSequence | None = None

    def generate_state(
        self, n_words: int, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[np.uint32 | np.uint64]:
        """Returns the key."""
        return self._words[:n_words]

    def spawn(self, n_children: int) -> list[SeedSequence]:  # type: ignore[override]
        """Returns seeds that depend on the place alone, and others with each call."""
        if self._spawning is None:
            self._spawning = SeedSequence(self._words.view(np.uint32).tolist())
        return self._spawning.spawn(n_children)


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

    def of(self, places: npt.NDArray[np.uint64]) -> Iterator[np.random.Generator]:
        """Yields the generator of each place: epoch, record, file, and number within the record."""
        for epoch, *place in places.tolist():
            yield self.at(epoch, *place)

    def at(self, epoch: int, record: int, file: int, part: int) -> np.random.Generator:
        """Returns the generator of one place."""
        words = np.array([self._seed, epoch, record, file, part], np.uint64)
        counter = np.array([0, record, file, part], np.uint64)
        place: Any = _Place(words)  # NumPy's annotations skip what it documents.
        return np.random.Generator(np.random.Philox(place, counter=counter))
