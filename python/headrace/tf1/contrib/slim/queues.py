"""`slim.queues`: runs queue runners for the duration of a `with` block.

Source: `tf.contrib.slim.queues` in TensorFlow 1.15.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from headrace.graph import GraphKeys, get_collection
from headrace.tf1.coordinator import Coordinator
from headrace.tf1.namespace import namespace
from headrace.tf1.session import Session

__all__ = ["NestedQueueRunnerError", "QueueRunners"]

_lock: Final = threading.Lock()
_GRACE_SECONDS: Final = 120


class NestedQueueRunnerError(Exception):
    """Raised when a `QueueRunners` block is entered inside another one."""


@contextmanager
def QueueRunners(session: Session) -> Iterator[None]:
    """Starts the queue runners of the default graph and stops them after the `with` block.

    At the end of the block, the error that ended a runner is raised, unless the input simply ended.
    If threads do not stop within two minutes, the session is closed.

    Args:
        session: The session to run in.

    Raises:
        NestedQueueRunnerError: If another block is active, in any thread.
    """
    if not _lock.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    coord = Coordinator()
    threads: list[threading.Thread] = []
    try:
        for runner in get_collection(GraphKeys.QUEUE_RUNNERS):
            threads += runner.create_threads(session, coord=coord, daemon=True, start=True)
        yield
    finally:
        coord.request_stop()
        try:
            coord.join(threads, _GRACE_SECONDS, ignore_live_threads=True)
        finally:
            _lock.release()
            if any(thread.is_alive() for thread in threads):
                session.close()


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
