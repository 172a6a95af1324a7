"""The open requests of one trainer: in order, and bounded in bytes."""

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Window"]

_T = TypeVar("_T")


class Window(Generic[_T]):
    """The requested batches of one trainer, each with a handle of its request.

    Credits are bytes: as many batches are requested as fit, each estimated by the largest of the
    last ones, but no more than keep all readers busy. One request is always allowed. Before the
    first batch has come, its size is unknown; then one is requested from each reader.
    """

    #: The number of last sizes that count.
    _NUM_SIZES = 16
    #: The most requests to wait at a reader; more do not make it faster.
    _MOST_AT_READER = 8

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

    def to_ask(self, num_readers: int) -> Iterator[int]:
        """Yields the numbers that may be requested now; `asked` must be called for each."""
        while len(self._asked) < self._most(num_readers):
            yield self._next_ask

    def _most(self, num_readers: int) -> int:
        # Trainers share the readers, so this one has its part of them, at least one.
        num_mine = -(-num_readers // self._step)
        if not self._sizes:
            return num_mine
        fitting = self._credit_bytes // max(self.expected_bytes, 1)
        return max(min(fitting, self._MOST_AT_READER * num_mine), 1)

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
