"""Converts batches for another library, optionally ahead of the user's loop."""

from abc import ABC, abstractmethod
from collections import deque
from types import TracebackType
from typing import Any, Final, NamedTuple

from headrace.core.errors import FailedPreconditionError
from headrace.core.tracebacks import with_short_tracebacks
from headrace.pipeline.run.batches import Batches

__all__ = ["ConvertedBatches"]


class OrderPosition(NamedTuple):
    """A position in the global order; see the attributes of `Batches` with the same names."""

    digest: str
    position: int
    counts: dict[str, int]

    @classmethod
    def of(cls, batches: Batches) -> "OrderPosition":
        """Returns an iteration's position. Raises the same errors as `Batches.digest`."""
        return cls(batches.digest(), batches.position, batches.counts)


class ReadyBatch(NamedTuple):
    """A batch that the loop has not taken yet.

    Attributes:
        batch: The converted batch.
        state: The state after this batch, or None if there is no fixed order and therefore no
            state.
        order: The position after this batch, or the reason why there is none. None without
            read-ahead.
    """

    batch: Any
    state: dict[str, Any] | None
    order: OrderPosition | FailedPreconditionError | None


class ConvertedBatches(ABC):
    """The batches of an iteration, converted for another library.

    Attributes:
        batches: The original batches. They run ahead of the loop, so use this object's `state`.
        is_over: Whether the loop has reached the end.
    """

    def __init__(self, batches: Batches, num_ahead: int) -> None:
        """Keeps `num_ahead` batches converted ahead of the user's loop."""
        self.batches: Final = batches
        self._num_ahead: Final = num_ahead
        self._ready: deque[ReadyBatch] = deque()
        self._state = self._state_now()
        self._order = self._order_now()
        self._is_read = False
        self.is_over = False

    @abstractmethod
    def _convert(self, batch: dict[str, Any]) -> Any:
        """Starts to convert a batch. The result is later passed to `_give`."""

    def _give(self, converted: Any) -> dict[str, Any]:
        """Returns a converted batch for the loop."""
        return dict(converted)

    @with_short_tracebacks
    def __next__(self) -> dict[str, Any]:
        while not self._is_read and len(self._ready) <= self._num_ahead:
            batch = next(self.batches, None)
            if batch is None:
                self._is_read = True
            else:
                self._ready.append(
                    ReadyBatch(self._convert(batch), self._state_now(), self._order_now())
                )
        if not self._ready:
            self.is_over = True
            raise StopIteration
        converted, self._state, self._order = self._ready.popleft()
        return self._give(converted)

    def _state_now(self) -> dict[str, Any] | None:
        # Without read-ahead, the state is computed on request.
        is_wanted = self._num_ahead > 0 and self.batches.is_deterministic
        return self.batches.state() if is_wanted else None

    def _order_now(self) -> OrderPosition | FailedPreconditionError | None:
        # Without read-ahead, the position is computed on request.
        if self._num_ahead == 0:
            return None
        try:
            return OrderPosition.of(self.batches)
        except FailedPreconditionError as error:
            return error

    @property
    def epoch(self) -> int:
        """The number of the epoch that this iteration began with."""
        return self.batches.epoch

    @property
    def position(self) -> int:
        """The position after the last batch that your loop received; see `Batches.position`."""
        return self._order_position().position

    @property
    def counts(self) -> dict[str, int]:
        """How many examples your loop received from each part of `mix`. See `Batches.counts`."""
        return self._order_position().counts

    def set_version(self, version: int) -> None:
        """Sets the version of your model; see `Batches.set_version`.

        It does not affect batches that have been converted ahead of your loop.
        """
        self.batches.set_version(version)

    def digest(self) -> str:
        """Returns the digest up to the last batch your loop received; see `Batches.digest`."""
        return self._order_position().digest

    def _order_position(self) -> OrderPosition:
        if isinstance(self._order, FailedPreconditionError):
            raise self._order
        return OrderPosition.of(self.batches) if self._order is None else self._order

    def state(self) -> dict[str, Any]:
        """Returns the position after the last batch that your loop received.

        Raises:
            FailedPreconditionError: If the pipeline has `options(deterministic=False)`.
        """
        return self.batches.state() if self._state is None else self._state

    def close(self) -> None:
        """Stops the threads of the pipeline."""
        self._ready.clear()
        self._is_read = True
        self.batches.close()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
