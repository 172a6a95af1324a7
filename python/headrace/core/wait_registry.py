"""A registry of the waits of Python threads, in words, for `headrace.testing.dump_waits`.

Waits in the engine are in a registry of its own; see `headrace.core.engine.waits`.
"""

import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["PythonWait", "RegisteredWait", "python_waits"]


class PythonWait(NamedTuple):
    """A wait of a thread.

    Attributes:
        thread: The thread that waits, by its identifier.
        since: The time at which it began, by `time.monotonic`.
        describe: Describes the awaited event, as it is at the time of the call.
    """

    thread: int
    since: float
    describe: Callable[[], str]


# By an object that belongs to the wait alone; setting and removing one is a single step.
_waits: Final[dict[object, PythonWait]] = {}


class RegisteredWait:
    """A context manager around a wait of the current thread.

    Args:
        describe: Describes the awaited event. May be called from any thread, and must not wait.
    """

    def __init__(self, describe: Callable[[], str]) -> None:
        self._describe = describe

    def __enter__(self) -> None:
        _waits[self] = PythonWait(threading.get_ident(), time.monotonic(), self._describe)

    def __exit__(self, *exc: object) -> None:
        del _waits[self]


def python_waits() -> list[PythonWait]:
    """Returns the waits of all threads, in the order in which they began."""
    return list(_waits.values())
