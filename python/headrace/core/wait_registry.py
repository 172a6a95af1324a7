"""Describes the waits of Python threads, for `headrace.testing.dump_waits`.

The engine has its own registry; see `headrace.core.engine.waits`. Owners of queues and threads
register a report about themselves, so that `dump_waits` need not import them.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

__all__ = [
    "ExplainsWaits",
    "PythonWait",
    "RegisteredWait",
    "Section",
    "python_waits",
    "register_report",
    "report_sections",
]

Section: TypeAlias = Callable[[], Iterable[str]]
"""Describes one object, such as a session, with a headline followed by details."""


class PythonWait(NamedTuple):
    """A thread's wait.

    Attributes:
        thread: The ID of the waiting thread.
        since: When the wait started, by `time.monotonic`.
        describe: Describes the awaited event at the time of the call.
    """

    thread: int
    since: float
    describe: Callable[[], str]


@runtime_checkable
class ExplainsWaits(Protocol):
    """Describes the waits of a run's operations."""

    def explain(self, op: str) -> str | None:
        """Describes the wait of an operation, or returns None if it is unknown."""


# Keyed by an object that belongs only to this wait. Setting and removing an entry is atomic.
_waits: Final[dict[object, PythonWait]] = {}


class RegisteredWait:
    """A context manager around a wait of the current thread.

    Args:
        describe: Describes the awaited event. It may be called from any thread, and must not block.
    """

    def __init__(self, describe: Callable[[], str]) -> None:
        self._describe = describe

    def __enter__(self) -> None:
        _waits[self] = PythonWait(threading.get_ident(), time.monotonic(), self._describe)

    def __exit__(self, *exc: object) -> None:
        del _waits[self]


def python_waits() -> list[PythonWait]:
    """Returns the waits of all threads, in the order in which they started."""
    return list(_waits.values())


_reports: Final[list[Callable[[], Iterable[Section]]]] = []


def register_report(report: Callable[[], Iterable[Section]]) -> None:
    """Adds a report to `headrace.testing.dump_waits`.

    Args:
        report: Returns a section for each object that exists at the time of the call.
    """
    _reports.append(report)


def report_sections() -> list[Section]:
    """Returns the sections of all registered reports."""
    return [section for report in _reports for section in report()]
