"""Holds a stage's idle worker processes for the next iteration."""

import os
import weakref
from typing import Protocol

__all__ = ["EndableWorker", "WorkerHolder"]


class EndableWorker(Protocol):
    """A worker process."""

    def end(self) -> None:
        """Ends the process, and waits until it has ended."""

    def let_go(self) -> None:
        """Makes the process end, without waiting."""


class WorkerHolder:
    """A stage's worker processes between two iterations. Copies and forked children have none.

    The processes end together with the stage, or with the program.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._idle: list[EndableWorker] = []
        weakref.finalize(self, _let_go, self._idle, os.getpid())

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()

    def put(self, worker: EndableWorker) -> None:
        """Adds an idle worker."""
        self._forget_others()
        self._idle.append(worker)

    def take(self) -> EndableWorker | None:
        """Removes and returns an idle worker, or returns None if there is none."""
        self._forget_others()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def release(self) -> None:
        """Ends the idle workers."""
        while (worker := self.take()) is not None:
            worker.end()

    def _forget_others(self) -> None:
        """Forgets workers added before a fork, because they belong to the parent process."""
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), []
            weakref.finalize(self, _let_go, self._idle, os.getpid())


def _let_go(idle: list[EndableWorker], process: int) -> None:
    """Ends idle workers without a lock, because the garbage collector may call it at any time."""
    while idle:
        worker = idle.pop()
        if process == os.getpid():
            worker.let_go()
