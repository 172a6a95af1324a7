"""Worker processes that wait for the next iteration of a stage."""

import os
import weakref
from typing import Protocol

__all__ = ["Endable", "WorkerHolder"]


class Endable(Protocol):
    """A worker process."""

    def end(self) -> None:
        """Ends the process."""


class WorkerHolder:
    """The worker processes of a stage between two iterations. A copy holds none.

    They end with the stage, and with the program.
    """

    def __init__(self) -> None:
        self._idle: list[Endable] = []
        weakref.finalize(self, _end_all, self._idle, os.getpid())

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()

    def put(self, worker: Endable) -> None:
        """Keeps a worker."""
        self._idle.append(worker)

    def take(self) -> Endable | None:
        """Returns a worker that was kept; None if there is none."""
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def release(self) -> None:
        """Ends the workers that are kept."""
        while (worker := self.take()) is not None:
            worker.end()


def _end_all(idle: list[Endable], process: int) -> None:
    while idle:
        worker = idle.pop()
        if process == os.getpid():
            worker.end()
