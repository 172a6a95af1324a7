"""The next epoch of a loader, as counted by the loader and by the training loop."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from headrace.pipeline.outputs.callers import is_lightning
from headrace.pipeline.run.state import state_from_text, state_text

__all__ = ["LoaderPosition"]

_log: Final = logging.getLogger("headrace.pipeline")


class LoaderPosition:
    """The next epoch of a loader, and the state to resume in it.

    A loader and its iterations share one position. Training loops pass their own epoch number to
    `set_epoch`. After a resume, some of them continue their count, and others start from 0.

    Attributes:
        epoch: The number of the next epoch.
        resumed: The state in that epoch to resume from, or None to start at its beginning.
        offset: The number of the epoch that the loop counts as 0.
        is_waiting: Whether no batch has been taken since a state was loaded.
        is_held_ahead: Whether the loop takes a batch before it has used the previous one.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.resumed: Mapping[str, Any] | None = None
        self.offset = 0
        self.is_waiting = False
        self.is_held_ahead = False
        # The last argument of `set_epoch`.
        self._told: int | None = None
        # The last argument of `set_epoch` and the offset, from the loaded state.
        self._count_of_state: tuple[int | None, int] = (None, 0)
        # The epoch of a loaded state, until `set_epoch` is called with a later one.
        self._loaded: int | None = None

    def set_epoch(self, number: int) -> None:
        """Sets the next epoch, using the training loop's epoch number."""
        before, self._told = self._told, number
        if self.is_waiting:
            self._follow_a_state(number)
            return
        if self._loaded is not None:
            # Loops that load a state late have already called `set_epoch`.
            counts_on = before is not None and number == before + 1 and number != self._loaded + 1
            self.offset, self._loaded = self._loaded + 1 - number if counts_on else 0, None
        elif before is not None and number < before:
            self.offset = 0
        self.epoch = number + self.offset

    def _follow_a_state(self, number: int) -> None:
        """Sets the next epoch to `number`, if a state was loaded and no batch was taken yet."""
        told, offset = self._count_of_state
        if number == told and (self.epoch == told + offset or is_lightning()):
            # The loop continues its count from before the state was saved.
            self.offset, self._loaded = offset, None
            return
        if told is not None and is_lightning():
            # The loop is already in a different epoch, and counts from the start of the training.
            self.epoch, self.resumed, self.offset = number, None, 0
            self._loaded, self.is_waiting = None, False
            return
        if number <= self.epoch:
            self.offset = self.epoch - number
            return
        if number > self.epoch + 1:
            _log.warning(
                "set_epoch(%d): the rest of epoch %d is skipped, although the loaded state is in "
                "the middle of that epoch. Call set_epoch before you load the state, or don't "
                "call it.",
                number,
                self.epoch,
            )
        self.epoch, self.resumed = number, None
        self._loaded, self.is_waiting = None, False

    def is_in_previous(self) -> bool:
        """Returns whether the loop is still in the epoch before the next one."""
        return self._told == self.epoch - self.offset - 1

    def advance(self, epoch: int, is_alone: bool) -> None:
        """Records that an epoch has started. The next epoch will follow it.

        Args:
            epoch: The number of the epoch that has started. This is the next epoch, or the one
                after it if the state was at the end.
            is_alone: Whether the loop reads only this loader.
        """
        if epoch != self.epoch:
            self.offset += self._told is not None and is_alone
            self._loaded = None if self._loaded is None else epoch
        self.epoch, self.resumed, self.is_waiting = epoch + 1, None, False

    def state(self) -> dict[str, Any]:
        """Returns the state of a loader before the first batch of the next epoch."""
        return self.state_at(self.epoch, self.resumed)

    def state_at(self, epoch: int | None, state: Mapping[str, Any] | None) -> dict[str, Any]:
        """Returns the state of a loader within an epoch, or at its beginning if `state` is None."""
        batches = None if state is None else state_text(state)
        count = (self._told, self.offset)
        if self._told is None and self.is_waiting:
            count = self._count_of_state
        return {"epoch": epoch, "batches": batches, "set_epoch": count[0], "offset": count[1]}

    def load(self, state: Mapping[str, Any]) -> None:
        """Resumes from a result of `state` or `state_at`."""
        batches = state["batches"]
        self.epoch = int(state["epoch"])
        self.resumed = state_from_text(batches) if isinstance(batches, str) else batches
        self._count_of_state = (state.get("set_epoch"), state.get("offset", 0))
        self._loaded, self.is_waiting, self.offset = self.epoch, True, 0
        if self._told is not None and (self._told == self._count_of_state[0] or is_lightning()):
            # The loop has called `set_epoch` already.
            self._follow_a_state(self._told)
