"""Shares a worker's current call with the program, through a page of shared memory."""

import mmap
import os
from typing import Final

__all__ = ["SharedCallStatus"]

_BLOCK, _ROW, _STEP, _STOP = range(4)
_BYTES: Final = mmap.PAGESIZE


class SharedCallStatus:
    """A worker's current call, and the request to stop.

    The worker writes the call, and the program writes the request to stop.

    Args:
        descriptor: The descriptor of a file. It is closed by this constructor.
    """

    def __init__(self, descriptor: int) -> None:
        os.ftruncate(descriptor, _BYTES)
        # Faster than an array for single numbers.
        self._numbers = memoryview(mmap.mmap(descriptor, _BYTES)).cast("q")
        os.close(descriptor)

    def begin_block(self, block: int) -> None:
        """Records that the following calls are for the rows of this block."""
        self.forget_calls()
        self._numbers[_BLOCK] = block

    def begin_call(self, row: int, step: int) -> bool:
        """Records that a call starts, and returns whether all calls must stop."""
        self._numbers[_STEP] = step
        self._numbers[_ROW] = row + 1
        return bool(self._numbers[_STOP])

    def forget_calls(self) -> None:
        """Records that no call is running."""
        self._numbers[_ROW] = self._numbers[_STEP] = 0

    def call(self, block: int = 0) -> tuple[int, int] | None:
        """Returns the row and step of the last call that started for a block, or None if none has.

        A worker without blocks uses number 0.
        """
        before = self._numbers[_BLOCK]
        row, step = self._numbers[_ROW], self._numbers[_STEP]
        is_of_block = before == self._numbers[_BLOCK] == block
        return (row - 1, step) if row and is_of_block else None

    def is_calling(self) -> bool:
        """Returns whether a call is running, for a row of any block."""
        return bool(self._numbers[_ROW])

    def must_stop(self) -> bool:
        """Returns whether all calls must stop."""
        return bool(self._numbers[_STOP])

    def stop(self, is_over: bool) -> None:
        """Sets whether all calls must stop."""
        self._numbers[_STOP] = is_over
