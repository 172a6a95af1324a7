"""The bodies of a queue runner's threads, which run an operation in a loop or wait for a stop.

A thread that blocks does not keep a headrace session alive.
"""

import logging
import threading
import traceback
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

from headrace.tf1.session import Life, Loop, Session
from headrace.tf1.session.fetching import FetchPlan

__all__ = [
    "CoordinatorLike",
    "FindSession",
    "SupportsRun",
    "has_native_loops",
    "make_loop",
    "request_stop",
    "run_ignoring_errors",
    "wait_for_stop",
    "warn_of_stop_iteration",
    "weakly",
]

# Returns a session, or None if it was garbage-collected.
FindSession: TypeAlias = Callable[[], Any]

_log = logging.getLogger(__name__)


class SupportsRun(Protocol):
    """The session methods that a runner needs. Other sessions can have them, too."""

    def run(self, fetches: Any, /) -> object:
        """Runs an operation."""


class CoordinatorLike(Protocol):
    """The coordinator methods that a runner needs. Other coordinators can have them, too."""

    def should_stop(self) -> bool:
        """Returns whether a stop was requested."""

    def request_stop(self, ex: BaseException, /) -> object:
        """Requests a stop because of an error."""

    def wait_for_stop(self) -> object:
        """Blocks until a stop is requested."""

    def register_thread(self, thread: threading.Thread, /) -> object:
        """Adds a thread that `join` waits for."""


@runtime_checkable
class _CallsBack(Protocol):
    """A coordinator that can wake a native loop."""

    def add_stop_callback(self, callback: Callable[[], object], /) -> object: ...

    def remove_stop_callback(self, callback: Callable[[], object], /) -> object: ...


def weakly(sess: SupportsRun) -> FindSession:
    """Returns a function that returns the session without keeping a headrace session alive."""
    return weakref.ref(sess) if isinstance(sess, Session) else lambda: sess


def has_native_loops(sess: object, coord: CoordinatorLike | None) -> bool:
    """Returns whether the loop from `make_loop` can pause."""
    return isinstance(sess, Session) and (coord is None or isinstance(coord, _CallsBack))


def make_loop(sess: SupportsRun, op: Any, coord: CoordinatorLike | None) -> Callable[[], None]:
    """Returns a function that runs an operation until it fails or the coordinator stops."""
    if not isinstance(sess, Session) or not (coord is None or isinstance(coord, _CallsBack)):
        return partial(_repeat, sess, op, coord)
    flag = sess.make_stop_flag()
    runners, term = sess.runners, sess.runners.life.term
    run = sess.make_loop(op, flag)
    first = FetchPlan(sess.graph, op).ops[0]
    loop = Loop(first, run, flag, runners.pausing, runners.life, term.cancellation.is_cancelled)
    return loop if coord is None else partial(_repeat_natively, loop, coord)


def _repeat(sess: SupportsRun, op: object, coord: CoordinatorLike | None) -> None:
    while coord is None or not coord.should_stop():
        sess.run(op)


def _repeat_natively(loop: Loop, coord: _CallsBack) -> None:
    coord.add_stop_callback(loop.stop)
    try:
        loop()
    finally:
        coord.remove_stop_callback(loop.stop)


def wait_for_stop(coord: CoordinatorLike, life: Life | None) -> None:
    """Waits until the coordinator stops or the runner's session ends."""
    if life is None or not isinstance(coord, _CallsBack):
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


def request_stop(coord: CoordinatorLike, error: BaseException) -> bool:
    """Requests a stop because of an error. Returns whether the coordinator accepted it."""
    try:
        coord.request_stop(error)
    except BaseException as refused:
        # A joined coordinator raises the error again, so the error is not reported to it.
        _log.debug("The error %r could not be reported to a coordinator: %r", error, refused)
        return False
    return True


def run_ignoring_errors(sess: SupportsRun, op: object) -> None:
    """Runs an operation that closes a queue, even if the queue or session is already closed."""
    try:
        sess.run(op)
    except Exception as error:
        _log.debug("Ignored exception: %s", error)


def warn_of_stop_iteration(queue: str, error: BaseException) -> None:
    """Warns that a StopIteration from a Python function ended the input of a queue.

    TensorFlow treats a StopIteration as the end of the input, even if it was raised by mistake.
    """
    cause, op = error.__cause__, getattr(error, "op", None)
    frames = traceback.extract_tb(cause.__traceback__ if cause else None)[-1:]
    _log.warning(
        "queue '%s': the Python function of operation '%s' raised StopIteration (%s), which "
        "ends the input. If you did not intend this, catch the exception in the function. If "
        "you did, raise tf.errors.OutOfRangeError instead to avoid this warning.",
        queue,
        op.name if op else "unknown",
        ", ".join(f"{frame.filename}:{frame.lineno}" for frame in frames),
    )
