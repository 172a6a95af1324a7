"""Helpers for tests of sessions: runs in threads, and waits until one is blocked."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.calls import TIMEOUT, Call, wait_until

import headrace.tf1 as tf


class Blocking:
    """Runs functions in threads and waits until they are blocked."""

    def __call__(self, function: Callable[[], Any]) -> Call:
        return Call(function)

    def run(self, session: tf.Session, queue: tf.QueueBase, fetches: Any, **kwargs: Any) -> Call:
        """Starts a run in a thread and waits until one more waits for the queue."""
        before = num_waiting(session, queue)
        call = Call(lambda: session.run(fetches, **kwargs))
        wait_until(lambda: num_waiting(session, queue) > before)
        return call


def num_waiting(session: tf.Session, queue: tf.QueueBase) -> int:
    stats = session.queue_statistics(queue)
    return stats.num_waiting_enqueues + stats.num_waiting_dequeues


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
