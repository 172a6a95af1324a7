"""Finds the queue runners of a graph and starts them.

Source: `tf.train.add_queue_runner` and `tf.train.start_queue_runners` in TensorFlow 1.15.
"""

import logging
import threading
from typing import Final

from headrace.graph import GraphKeys, get_default_graph, get_default_session
from headrace.tf1.queue_runners.loops import CoordinatorLike
from headrace.tf1.queue_runners.runner import QueueRunner
from headrace.tf1.session import Session

__all__ = ["add_queue_runner", "start_queue_runners"]

# Sessions that start the runners of their graph themselves.
_SELF_STARTING_SESSIONS: Final = ("MonitoredSession", "SingularMonitoredSession")

_log = logging.getLogger(__name__)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to a collection in the default graph, where `start_queue_runners` finds it."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Session | None = None,
    coord: CoordinatorLike | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Creates the threads of all runners in a collection of the session's graph.

    Args:
        sess: The session to run in. Defaults to the default session.
        coord: The coordinator that stops the threads, receives their errors and joins them.
        daemon: Whether the threads are daemons, which do not keep the program alive.
        start: Whether to start the threads.
        collection: The key of the collection.

    Returns:
        The threads of all runners, except runners that are already running.

    Raises:
        ValueError: If `sess` is None and there is no default session.
        TypeError: If `sess` is not a session.

    Source: `tf.train.start_queue_runners` in TensorFlow 1.15.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, Session):
        if type(sess).__name__ in _SELF_STARTING_SESSIONS:
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = sess.graph.get_collection(collection)
    sess.runners.collections.add(collection)
    if not runners:
        _log.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. "
            "You can safely remove the call to this deprecated function."
        )
    threads: list[threading.Thread] = []
    for runner in runners:
        threads += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    return threads
