"""Counts a runner's threads that still fill its queue, by session."""

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from headrace.tf1.session import Progress

__all__ = ["Census"]

# The program may drop a thread that was never started.
_ThreadRef: TypeAlias = weakref.ref[threading.Thread]


class Census:
    """A runner's filling threads, by session. Neither threads nor sessions are kept alive.

    The census is written under the runner's lock but read without it, because its tuples are
    replaced, never changed.
    """

    def __init__(self) -> None:
        self._filling: weakref.WeakKeyDictionary[Any, tuple[_ThreadRef, ...]] = (
            weakref.WeakKeyDictionary()
        )

    def begin(self, sess: object, threads: Iterable[threading.Thread]) -> None:
        """Records the threads that will fill the queue."""
        self._filling[sess] = tuple(map(weakref.ref, threads))

    def leave(self, sess: object, threads: Sequence[threading.Thread]) -> bool:
        """Removes threads and returns whether they were the last ones."""
        before = [ref for ref in self._filling.get(sess, ()) if ref() is not None]
        left = [ref for ref in before if ref() not in threads]
        self._filling[sess] = tuple(left)
        return not left and bool(before)

    def filling(self, sess: object) -> tuple[threading.Thread, ...]:
        """Returns the threads that have been recorded and have not ended."""
        threads = [thread for ref in self._filling.get(sess, ()) if (thread := ref()) is not None]
        return tuple(filter(threading.Thread.is_alive, threads))

    def progress(self, sess: object, num_running: int | None) -> Progress:
        """Returns the progress of the threads.

        Args:
            sess: The session.
            num_running: The number of threads that have not ended, as counted by the threads
                themselves, or None before the first call.
        """
        if num_running is None:
            return Progress.NOT_STARTED
        if num_running <= 0:
            return Progress.ENDED
        filling = self._filling.get(sess)
        threads = [thread for ref in filling or () if (thread := ref()) is not None]
        # A subclass may create its own threads and count them as TensorFlow does.
        if filling is None or any(map(threading.Thread.is_alive, threads)):
            return Progress.RUNNING
        has_ended = any(thread.ident is not None for thread in threads)
        return Progress.ENDED if has_ended else Progress.THREADS_NOT_STARTED
