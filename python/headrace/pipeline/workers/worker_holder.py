"""Worker processes that wait for the next iteration of a stage."""

import os
import weakref
from typing import Protocol

__all__ = ["Endable", "WorkerHolder"]


class Endable(Protocol):
    """A worker process."""

    def end(self) -> None:
        """Ends the process and waits for that."""

    def let_go(self) -> None:
        """Lets the process end, and waits for nothing."""


class WorkerHolder:
    """The worker processes of a stage between two iterations. A copy, or a forked child, has none.

    They end with the stage, and with the program.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._idle: list[Endable] = []
        weakref.finalize(self, _let_go, self._idle, os.getpid())

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()

    def put(self, worker: Endable) -> None:
        """Keeps a worker."""
        self._forget_others()
        self._idle.append(worker)

    def take(self) -> Endable | None:
        """Returns a worker that was kept; None if there is none."""
        self._forget_others()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def release(self) -> None:
        """Ends the workers that are kept."""
        while (worker := self.take()) is not None:
            worker.end()

    def _forget_others(self) -> None:
        """Forgets workers that were kept before a fork: they are those of the other process."""
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), []
            weakref.finalize(self, _let_go, self._idle, os.getpid())


def _let_go(idle: list[Endable], process: int) -> None:
    """Ends workers that wait. This may run amid anything, so it waits for no lock."""
    while idle:
        worker = idle.pop()
        if process == os.getpid():
            worker.let_go()
