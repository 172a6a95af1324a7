"""What tests of sessions share: runs in threads, and waiting until one is blocked."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace.tf1 as tf

TIMEOUT = 10.0
"""Seconds after which a wait that should have ended has failed."""


class Call:
    """A function running in a thread of its own."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def result(self) -> Any:
        """Waits for the end; returns or raises what the function did."""
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive(), "the call is still blocked"
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:
            self._error = error


class Blocking:
    """Runs things in threads and waits until they are blocked."""

    def __call__(self, function: Callable[[], Any]) -> Call:
        return Call(function)

    def run(self, session: tf.Session, queue: tf.QueueBase, fetches: Any, **kwargs: Any) -> Call:
        """Starts a run in a thread and waits until one more waits in a line of the queue."""
        before = num_waiting(session, queue)
        call = Call(lambda: session.run(fetches, **kwargs))
        wait_until(lambda: num_waiting(session, queue) > before)
        return call


def num_waiting(session: tf.Session, queue: tf.QueueBase) -> int:
    stats = session.queue_statistics(queue)
    return stats.num_waiting_enqueues + stats.num_waiting_dequeues


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        threading.Event().wait(0.001)


@pytest.fixture
def in_thread() -> Blocking:
    """Calls a function in a thread."""
    return Blocking()


@pytest.fixture
def session() -> Iterator[tf.Session]:
    """A session of the default graph, the default one, whose runs end in time."""
    config = tf.ConfigProto(operation_timeout_in_ms=int(TIMEOUT * 1000))
    with tf.Session(config=config) as session:
        yield session


@pytest.fixture
def queue() -> tf.QueueBase:
    """A queue of int32 scalars with room for one."""
    return tf.FIFOQueue(1, [tf.int32], [()], name="q")
