"""A registry of the waits of Python threads, in words, for `headrace.testing.dump_waits`.

Waits in the engine are in a registry of its own; see `headrace.core.engine.waits`. What owns
queues or threads registers a report of itself, so that `dump_waits` needs no import of it.
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
"""Describes one object, such as a session: a headline, then its details."""


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


@runtime_checkable
class ExplainsWaits(Protocol):
    """The watch of a run, if it can tell what the run's operations wait for."""

    def explain(self, op: str) -> str | None:
        """Returns what an operation waits for; None if that is unknown."""


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


_reports: Final[list[Callable[[], Iterable[Section]]]] = []


def register_report(report: Callable[[], Iterable[Section]]) -> None:
    """Adds a report to `headrace.testing.dump_waits`.

    Args:
        report: Returns a section for each of its objects that exist at the time of the call.
    """
    _reports.append(report)


def report_sections() -> list[Section]:
    """Returns the sections of all registered reports."""
    return [section for report in _reports for section in report()]
