"""Helpers for tests of blocking calls: calls in their own threads, and waits with a time limit."""

import threading
import time
from collections.abc import Callable
from typing import Any

from headrace.core import engine

TIMEOUT = 30.0
"""Seconds after which a wait that should have ended has failed."""


class Call:
    """A function that runs in its own thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def result(self) -> Any:
        """Waits for the end, and returns the function's result or raises its error."""
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive(), "the call is still blocked"
        if self._error is not None:
            raise self._error
        return self._result

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:
            self._error = error


def waiting_call(function: Callable[[], Any], awaited: str) -> Call:
    """Starts a call, and returns it once an engine call waits for something with this name."""
    call = Call(function)
    while not any(
        awaited in f"{event.op} {event.text}" for wait in engine.waits() for event in wait.awaited
    ):
        assert call.is_running, call.result()
    return call


def wait_until(condition: Callable[[], bool]) -> None:
    """Returns as soon as a condition is true, and fails after `TIMEOUT`."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "the condition does not come true"
        threading.Event().wait(0.001)
