"""Pauses the loops of a session's runners between two steps, when they hold no elements."""

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from headrace.core import engine
from headrace.core.wait_registry import RegisteredWait
from headrace.graph import Operation

__all__ = ["Loop", "Pausing"]


class Pausing:
    """Records which loops of a session are running and which should pause. Thread-safe.

    Attributes:
        turn: Held by the thread that pauses loops. Only one thread at a time can pause loops.
        changed: Guards the fields below, and is notified after each change.
    """

    def __init__(self) -> None:
        self.turn = threading.RLock()
        # Its lock is re-entrant, because a signal handler may stop a loop in a thread that is
        # inside this class.
        self.changed = threading.Condition()
        self._loops: set[Loop] = set()
        self._resting: set[threading.Thread] = set()
        self._asked: set[Operation] = set()

    def ask(self, ops: Iterable[Operation]) -> None:
        """Pauses the loops of operations, including loops that start later."""
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
        """Returns whether the loop of a thread is paused."""
        with self.changed:
            return thread in self._resting

    def wake(self) -> None:
        """Wakes paused loops so that they check whether their session has ended."""
        with self.changed:
            self.changed.notify_all()

    def add(self, loop: "Loop") -> None:
        """Adds a loop that is starting."""
        with self.changed:
            self._loops.add(loop)

    def remove(self, loop: "Loop") -> None:
        """Removes a loop that has ended."""
        with self.changed:
            self._loops.discard(loop)
            self.changed.notify_all()

    def rest(self, loop: "Loop", is_over: Callable[[], bool]) -> None:
        """Blocks while the loop of this thread should pause and has not been stopped."""
        thread = threading.current_thread()
        with self.changed:
            if loop.op in self._asked:
                self._resting.add(thread)
                self.changed.notify_all()
            is_free = loop.op not in self._asked or is_over()
            if not is_free:
                with RegisteredWait(
                    lambda: f"a checkpoint to end (operation '{loop.op.name}' is paused)"
                ):
                    self.changed.wait_for(lambda: is_over() or loop.op not in self._asked)
            self._resting.discard(thread)


class _Life(Protocol):
    """The lifetime of a session's runners."""

    def call_at_end(self, callback: Callable[[], object]) -> None: ...

    def forget(self, callback: Callable[[], object]) -> None: ...


class Loop:
    """An operation that a runner's thread repeats.

    The operation runs in a native loop. A new native loop starts after each pause.

    Args:
        op: The operation.
        run: The native loop, which returns between two steps once the flag is set.
        flag: The flag that ends the native loop.
        pausing: The `Pausing` of the session.
        life: The lifetime of the session's runners.
        has_ended: A function that returns whether that lifetime has ended.
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
        """Runs the loop until it is stopped or a step fails."""
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
            # If the session has ended, the next step fails.
            self._pausing.rest(self, lambda: self._is_stopped or self._has_ended())
            if not self._is_stopped:
                self.flag.clear()
            return not self._is_stopped
