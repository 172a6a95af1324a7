"""Signals in commands that write files. They are checked only between complete steps."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Self

__all__ = ["Interrupted", "Interrupts", "ending_signals"]


class Interrupted(Exception):
    """A signal requested the end of the command.

    Attributes:
        exit_code: The exit code for the process, 130 for SIGINT.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(signal_number).name}")
        self.exit_code = 128 + signal_number


class Interrupts:
    """Records SIGINT, SIGTERM and SIGHUP inside a `with` block. Only for the main thread.

    The second signal ends the process immediately.
    """

    def __enter__(self) -> Self:
        self._number: int | None = None
        self._old = {number: signal.signal(number, self._note) for number in ending_signals()}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raises Interrupted if a signal has arrived."""
        if self._number is not None:
            raise Interrupted(self._number)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self._number is not None:
            os._exit(128 + number)
        self._number = number


def ending_signals() -> list[signal.Signals]:
    """Returns the signals that end a command.

    SIGINT is always included: shell scripts start background jobs with SIGINT ignored, but `kill
    -INT` must still work. SIGHUP is included unless `nohup` has made the process ignore it.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return [signal.SIGINT, signal.SIGTERM]
    return [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
