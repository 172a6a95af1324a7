"""What the threads of a queue runner do: repeat an operation, or wait for the stop.

None of it keeps a session of headrace alive while it blocks.
"""

import logging
import threading
import traceback
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from headrace import engine
from headrace.graph import Tensor
from headrace.session import Life, Session

__all__ = [
    "FindSession",
    "make_loop",
    "request_stop",
    "run_ignoring_errors",
    "tell_of_stop_iteration",
    "wait_for_stop",
    "weakly",
]

# Gives a session that may be gone by now.
FindSession: TypeAlias = Callable[[], Any]

_log = logging.getLogger(__name__)


def weakly(sess: Any) -> FindSession:
    """Returns what finds a session: None once it was collected, if it is one of headrace."""
    return weakref.ref(sess) if isinstance(sess, Session) else lambda: sess


def make_loop(sess: Any, op: Any, coord: Any) -> Callable[[], None]:
    """Returns what runs an operation again and again until it raises or the coordinator stops."""
    has_callbacks = coord is None or hasattr(coord, "add_stop_callback")
    if not (has_callbacks and isinstance(sess, Session)):
        return partial(_repeat, sess, op, coord)
    op = sess.graph.as_graph_element(op)
    if isinstance(op, Tensor):
        op = op.op
    flag = sess.make_stop_flag()
    loop = sess.make_loop(op, flag)
    return loop if coord is None else partial(_repeat_natively, loop, flag, coord)


def _repeat(sess: Any, op: Any, coord: Any) -> None:
    while coord is None or not coord.should_stop():
        sess.run(op)


def _repeat_natively(loop: Callable[[], None], flag: engine.StopFlag, coord: Any) -> None:
    coord.add_stop_callback(flag.set)
    try:
        if not flag.is_set():
            loop()
    finally:
        coord.remove_stop_callback(flag.set)


def wait_for_stop(coord: Any, life: Life | None) -> None:
    """Waits until the coordinator stops, or what the runner lives for has ended."""
    if life is None or not hasattr(coord, "add_stop_callback"):
        coord.wait_for_stop()
        return
    is_over = threading.Event()
    coord.add_stop_callback(is_over.set)
    life.call_at_end(is_over.set)
    try:
        is_over.wait()
    finally:
        coord.remove_stop_callback(is_over.set)
        life.forget(is_over.set)


def request_stop(coord: Any, error: BaseException) -> bool:
    """Hands an error to a coordinator; returns whether it took it."""
    try:
        coord.request_stop(error)
    except BaseException as refused:
        # One that was joined raises the error again: nobody would hear of it.
        _log.debug("A coordinator did not take %r: %r", error, refused)
        return False
    return True


def run_ignoring_errors(sess: Any, op: Any) -> None:
    """Runs an operation that closes a queue; the queue, or the session, may be closed already."""
    try:
        sess.run(op)
    except Exception as error:
        _log.debug("Ignored exception: %s", error)


def tell_of_stop_iteration(queue: str, error: BaseException) -> None:
    """Warns that a Python function has ended the input of a queue without saying so.

    TensorFlow takes a StopIteration for the end of the input, also one that is raised by mistake.
    """
    cause, op = error.__cause__, getattr(error, "op", None)
    place = traceback.extract_tb(cause.__traceback__ if cause else None)[-1:]
    _log.warning(
        "queue '%s': the Python function of operation '%s' raised StopIteration (%s), which ends "
        "the input. If that was not meant, catch it in the function. If it was, raise "
        "tf.errors.OutOfRangeError there instead, and nothing is logged.",
        queue,
        op.name if op else "unknown",
        ", ".join(f"{frame.filename}:{frame.lineno}" for frame in place),
    )
