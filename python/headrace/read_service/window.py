"""The open requests of one trainer: in order, and bounded in bytes."""

from collections import deque
from typing import Final, Generic, TypeVar

__all__ = ["TOGETHER_S", "Window"]

#: The seconds that a reader takes at most for batches that travel together, or for one alone.
TOGETHER_S: Final = 0.02

_T = TypeVar("_T")


class Window(Generic[_T]):
    """The requested batches of one trainer, each with a handle of its request.

    Credits are bytes: as many batches are requested as fit, each estimated by the largest of the
    last ones, but no more than keep all readers busy. One request is always allowed. Before the
    first batch has come, its size is unknown; then one is requested from each reader.

    A request costs as much for a small batch as for a large one, so small ones that are quick to
    make are requested together.
    """

    #: The number of last sizes that count.
    _NUM_SIZES = 16
    #: The most requests to wait at a reader; more do not make it faster.
    _MOST_AT_READER = 8
    #: The most batches, and bytes, of one request for several batches.
    _MOST_TOGETHER = 16
    _TOGETHER_BYTES = 4 << 20

    def __init__(self, first: int, step: int, credit_bytes: int) -> None:
        """Covers the batches `first`, `first + step`, ….

        Args:
            first: The number of the first batch of the trainer.
            step: The number of trainers.
            credit_bytes: The limit on requested batches, in bytes.
        """
        self._asked: dict[int, _T] = {}
        self._next_ask = first
        self._next_take = first
        self._step = step
        self._credit_bytes = credit_bytes
        self._sizes: deque[int] = deque(maxlen=self._NUM_SIZES)
        self._most_quick = 1

    @property
    def next_number(self) -> int:
        """The number of the next batch to take."""
        return self._next_take

    @property
    def end(self) -> int:
        """The number of the next batch to request."""
        return self._next_ask

    @property
    def under_way(self) -> dict[int, _T]:
        """The handles of the requested batches by number, ascending."""
        return self._asked

    @property
    def expected_bytes(self) -> int:
        """The assumed size of a batch in bytes; 0 before the first one has come."""
        return max(self._sizes, default=0)

    def together(self, num_readers: int) -> int:
        """Returns the number of batches that one request is for, at least 1."""
        if not self._sizes:
            return 1
        small = self._TOGETHER_BYTES // max(self.expected_bytes, 1)
        # Two requests at each reader, so that it makes batches while others are on their way.
        fitting = self._fitting() // (2 * self._num_mine(num_readers))
        return max(min(self._most_quick, small, fitting, self._MOST_TOGETHER), 1)

    def to_ask(self, num_readers: int) -> list[int]:
        """Returns the numbers to request now; `asked` must be called for each.

        There are none until a request for as many batches as come together may be made to each
        reader.
        """
        together = self.together(num_readers)
        room = self._most(num_readers, together) - len(self._asked)
        if self._asked and together > 1 and room < together * self._num_mine(num_readers):
            return []
        return [self._next_ask + self._step * index for index in range(room)]

    def _most(self, num_readers: int, together: int) -> int:
        num_mine = self._num_mine(num_readers)
        if not self._sizes:
            return num_mine
        return max(min(self._fitting(), self._MOST_AT_READER * num_mine * together), 1)

    def _num_mine(self, num_readers: int) -> int:
        # Trainers share the readers, so this one has its part of them, at least one.
        return -(-num_readers // self._step)

    def _fitting(self) -> int:
        return self._credit_bytes // max(self.expected_bytes, 1)

    def came(self, num_batches: int, seconds: float) -> None:
        """Records how long a reader took for batches."""
        self._most_quick = int(TOGETHER_S * num_batches / max(seconds, 1e-9))

    def asked(self, number: int, how: _T) -> None:
        """Records a request, or a repeated one, with its handle."""
        self._asked[number] = how
        if number == self._next_ask:
            self._next_ask += self._step

    def take(self, num_bytes: int) -> None:
        """Records that the next batch was taken, and its size in bytes."""
        del self._asked[self._next_take]
        self._next_take += self._step
        self._sizes.append(num_bytes)
