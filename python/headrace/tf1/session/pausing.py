"""Pauses the loops of a session's runners between two steps, where they hold no elements."""

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from headrace.core import engine
from headrace.core.wait_registry import RegisteredWait
from headrace.graph import Operation

__all__ = ["Loop", "Pausing"]


class Pausing:
    """The loops of a session that run, and those that are to pause. Used from many threads.

    Attributes:
        turn: Held by the thread that lets loops pause: one at a time.
        changed: Guards everything below, and is notified when any of it has changed.
    """

    def __init__(self) -> None:
        self.turn = threading.RLock()
        # Its lock is re-entrant: a signal handler may stop a loop in a thread that is in here.
        self.changed = threading.Condition()
        self._loops: set[Loop] = set()
        self._resting: set[threading.Thread] = set()
        self._asked: set[Operation] = set()

    def ask(self, ops: Iterable[Operation]) -> None:
        """Asks the loops of operations to pause, including loops that begin later."""
        with self.changed:
            self._asked.update(ops)
            for loop in self._loops:
                if loop.op in self._asked:
                    loop.flag.set()

    def release(self) -> None:
        """Lets all loops continue."""
        with self.changed:
            self._asked.clear()
            self.changed.notify_all()

    def is_resting(self, thread: threading.Thread) -> bool:
        """Returns whether the loop of a thread pauses."""
        with self.changed:
            return thread in self._resting

    def wake(self) -> None:
        """Makes paused loops check if their session has ended."""
        with self.changed:
            self.changed.notify_all()

    def add(self, loop: "Loop") -> None:
        """Adds a loop that begins."""
        with self.changed:
            self._loops.add(loop)

    def remove(self, loop: "Loop") -> None:
        """Removes a loop that has ended."""
        with self.changed:
            self._loops.discard(loop)
            self.changed.notify_all()

    def rest(self, loop: "Loop", is_over: Callable[[], bool]) -> None:
        """Blocks while the loop of this thread is asked to pause, and is not over."""
        thread = threading.current_thread()
        with self.changed:
            if loop.op in self._asked:
                self._resting.add(thread)
                self.changed.notify_all()
            is_free = loop.op not in self._asked or is_over()
            if not is_free:
                with RegisteredWait(
                    lambda: f"the end of a checkpoint; operation '{loop.op.name}' pauses"
                ):
                    self.changed.wait_for(lambda: is_over() or loop.op not in self._asked)
            self._resting.discard(thread)


class _Life(Protocol):
    """When the runners of a session end."""

    def call_at_end(self, callback: Callable[[], object]) -> None: ...

    def forget(self, callback: Callable[[], object]) -> None: ...


class Loop:
    """An operation that the thread of a runner repeats.

    It is one native loop, and another one after each pause.

    Args:
        op: The operation.
        run: The native loop; returns when the flag is set, between two steps.
        flag: Ends the native loop.
        pausing: The pausing of the session.
        life: The lifetime of the session's runners.
        has_ended: Returns whether that lifetime is over.
    """

    def __init__(
        self,
        op: Operation,
        run: Callable[[], None],
        flag: engine.StopFlag,
        pausing: Pausing,
        life: _Life,
        has_ended: Callable[[], bool],
    ) -> None:
        self.op = op
        self.flag = flag
        self._run = run
        self._pausing = pausing
        self._life = life
        self._has_ended = has_ended
        # Guarded by the lock of `pausing.changed`.
        self._is_stopped = False

    def stop(self) -> None:
        """Ends the loop between two steps. Does not block."""
        with self._pausing.changed:
            self._is_stopped = True
            self.flag.set()
            self._pausing.changed.notify_all()

    def __call__(self) -> None:
        """Runs the loop, until it is stopped or a step fails."""
        self._life.call_at_end(self._pausing.wake)
        self._pausing.add(self)
        try:
            while self._may_go_on():
                self._run()
        finally:
            self._pausing.remove(self)
            self._life.forget(self._pausing.wake)

    def _may_go_on(self) -> bool:
        with self._pausing.changed:
            # A session that has ended makes the next step fail.
            self._pausing.rest(self, lambda: self._is_stopped or self._has_ended())
            if not self._is_stopped:
                self.flag.clear()
            return not self._is_stopped
