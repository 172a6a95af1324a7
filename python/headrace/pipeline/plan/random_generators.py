"""Random draws of Python functions: a generator for each example, whoever comes first."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

__all__ = ["Draws"]


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
        key = np.array([self._seed, epoch], np.uint64)
        counter = np.array([0, record, file, part], np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=counter))
