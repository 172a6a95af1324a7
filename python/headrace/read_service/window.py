"""The open requests of one trainer, in order. Their total size is limited."""

from collections import deque
from typing import Final, Generic, TypeVar

__all__ = ["TOGETHER_S", "Window"]

# The maximum time in seconds that a reader spends on batches sent together, or on one batch.
TOGETHER_S: Final = 0.02

_T = TypeVar("_T")


class Window(Generic[_T]):
    """One trainer's requested batches, with a handle for each request.

    The limit is in bytes: batches are requested as long as they fit and not all readers are busy.
    A batch's size is estimated as the largest recent size. One request is always allowed. Before
    the first batch has arrived, its size is unknown, so one batch is requested from each reader.

    A request costs the same for a small batch as for a large one, so small batches that are quick
    to produce are requested together.
    """

    # The number of recent sizes that the estimate is based on.
    _NUM_SIZES = 16
    # The maximum number of requests waiting at a reader. More do not make it faster.
    _MOST_AT_READER = 8
    # The maximum number of batches, and of bytes, in one request for several batches.
    _MOST_TOGETHER = 16
    _TOGETHER_BYTES = 4 << 20

    def __init__(self, first: int, step: int, credit_bytes: int) -> None:
        """Creates a window over the batches `first`, `first + step`, ….

        Args:
            first: The number of the first batch of the trainer.
            step: The number of trainers.
            credit_bytes: The limit in bytes on requested batches.
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
        """The handles of the requested batches by number, in ascending order."""
        return self._asked

    @property
    def expected_bytes(self) -> int:
        """The estimated size of a batch in bytes, or 0 before the first batch has arrived."""
        return max(self._sizes, default=0)

    def together(self, num_readers: int) -> int:
        """Returns the number of batches to request together, at least 1."""
        if not self._sizes:
            return 1
        small = self._TOGETHER_BYTES // max(self.expected_bytes, 1)
        # Keep two requests per reader, so that it can work while other batches are in transit.
        fitting = self._fitting() // (2 * self._num_mine(num_readers))
        return max(min(self._most_quick, small, fitting, self._MOST_TOGETHER), 1)

    def to_ask(self, num_readers: int) -> list[int]:
        """Returns the numbers to request now. Call `asked` for each of them.

        Returns nothing until enough batches can be requested to fill a request to each reader.
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
        # Trainers share the readers. This one gets its part of them, at least one reader.
        return -(-num_readers // self._step)

    def _fitting(self) -> int:
        return self._credit_bytes // max(self.expected_bytes, 1)

    def came(self, num_batches: int, seconds: float) -> None:
        """Records how long a reader took to produce some batches."""
        self._most_quick = int(TOGETHER_S * num_batches / max(seconds, 1e-9))

    def asked(self, number: int, how: _T) -> None:
        """Records a first or repeated request with its handle."""
        self._asked[number] = how
        if number == self._next_ask:
            self._next_ask += self._step

    def take(self, num_bytes: int) -> None:
        """Records that the next batch was taken, with its size in bytes."""
        del self._asked[self._next_take]
        self._next_take += self._step
        self._sizes.append(num_bytes)
