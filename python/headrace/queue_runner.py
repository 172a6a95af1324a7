"""A queue runner keeps a queue filled: one thread for each of its enqueue operations.

The threads are ordinary Python threads, visible and joinable; the body of each is one native call
that repeats the operation until the input ends, something fails or a stop is requested. Sessions
and coordinators of other make need only `run`, or `should_stop`, `request_stop`, `wait_for_stop`
and `register_thread`: the loop is then written in Python.

Source: `tf.train.QueueRunner` of TensorFlow 1.15.
"""

import logging
import threading
import traceback
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from headrace import errors
from headrace.graph import GraphKeys, Tensor, get_default_graph, get_default_session
from headrace.session import Session

__all__ = ["QueueRunner", "QueueRunnerDef", "add_queue_runner", "start_queue_runners"]

# Sessions that start the runners of their graph themselves.
_SELF_STARTING_SESSIONS: Final = ("MonitoredSession", "SingularMonitoredSession")

_log = logging.getLogger(__name__)


class _StopFlag(Protocol):
    def set(self) -> object: ...

    def is_set(self) -> bool: ...


@dataclass
class QueueRunnerDef:
    """A `QueueRunner` written down as names, to be found again in another graph.

    Attributes:
        queue_name: Name of the queue.
        enqueue_op_name: Names of the enqueue operations, one for each thread.
        close_op_name: Name of the operation that closes the queue.
        cancel_op_name: Name of the operation that closes it and cancels what waits in it.
        queue_closed_exception_types: Error codes that say that the input ended.

    Source: `tf.train.QueueRunnerDef`, with the same field names.
    """

    queue_name: str = ""
    enqueue_op_name: list[str] = field(default_factory=list)
    close_op_name: str = ""
    cancel_op_name: str = ""
    queue_closed_exception_types: list[int] = field(default_factory=list)


class QueueRunner:
    """Runs each of several enqueue operations of a queue in a thread of its own.

    A thread ends when its operation raises one of the queue-closed types; the last thread to end
    so closes the queue. Any other error goes to the coordinator; without one it is kept in
    `exceptions_raised`, raised in the thread, and the queue stays open.

    Args:
        queue: The queue that the operations fill.
        enqueue_ops: The operations, one for each thread; one may occur several times.
        close_op: Closes the queue and lets pending enqueues finish. By default `queue.close()`.
        cancel_op: Closes the queue and cancels pending enqueues. By default
            `queue.close(cancel_pending_enqueues=True)`.
        queue_closed_exception_types: Errors that mean that the input ended. By default
            `(OutOfRangeError,)`.
        queue_runner_def: What `to_proto` returned, instead of all arguments above; the names are
            looked up in the default graph, and `queue` is then the queue's operation.
        import_scope: Name scope to put before the names of `queue_runner_def`.

    Raises:
        ValueError: If `queue` or `enqueue_ops` is missing or empty, or is given beside
            `queue_runner_def`.
        TypeError: If `queue_closed_exception_types` is no tuple of `OpError` types, or is empty.
        KeyError: If the default graph has no operation of a name in `queue_runner_def`.

    Source: `tf.train.QueueRunner` of TensorFlow 1.15.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
        queue_runner_def: QueueRunnerDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._init_from_def(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._closed_types = _check_closed_types(queue_closed_exception_types)
            self._queue = queue
            self._enqueue_ops = list(enqueue_ops)
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = (
                queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            )
        self._lock = threading.Lock()
        # Guarded by the lock: written by create_threads and by each thread when it ends.
        self._num_running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []
        self._has_told = False

    def _init_from_def(self, queue_runner_def: QueueRunnerDef, import_scope: str | None) -> None:
        graph = get_default_graph()

        def find(name: str) -> Any:
            return graph.as_graph_element(_add_scope(name, import_scope))

        self._queue = find(queue_runner_def.queue_name)
        self._enqueue_ops = [find(name) for name in queue_runner_def.enqueue_op_name]
        self._close_op = find(queue_runner_def.close_op_name)
        self._cancel_op = find(queue_runner_def.cancel_op_name)
        codes = queue_runner_def.queue_closed_exception_types or (errors.OUT_OF_RANGE,)
        self._closed_types = tuple(errors.exception_type_from_error_code(code) for code in codes)

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    @property
    def queue(self) -> Any:
        """The queue, or its operation if the runner was made from a `QueueRunnerDef`."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The enqueue operations, one for each thread."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that closes the queue when the input has ended."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that closes the queue when a stop is requested."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        """The errors that mean that the input ended."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """Errors of threads without a coordinator, since the last `create_threads`."""
        return self._exceptions_raised

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Makes the threads that fill the queue in a session.

        With a coordinator one more thread waits for the stop and then cancels the queue, so that
        nothing stays blocked in it.

        Args:
            sess: The session to run in.
            coord: Stops the threads, hears of their errors and joins them.
            daemon: Whether the threads do not keep the program alive.
            start: Whether to start them here.

        Returns:
            The threads; none while earlier ones for the same session have not all ended, also if
            nobody has started those.
        """
        with self._lock:
            if self._num_running.get(sess, 0) > 0:
                return []
            self._num_running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            threading.Thread(
                target=self._fill,
                args=(sess, enqueue_op, coord),
                name=f"QueueRunnerThread-{self.name}-{enqueue_op.name}",
            )
            for enqueue_op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._cancel_on_stop,
                    args=(sess, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """Writes the runner down as names.

        Args:
            export_scope: Name scope to take off the names.

        Returns:
            The names; None if the queue's name does not begin with the scope.

        Raises:
            KeyError: If one of the queue-closed types has no error code of its own.
        """
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        return QueueRunnerDef(
            queue_name=_strip_scope(self.name, export_scope),
            enqueue_op_name=[_strip_scope(op.name, export_scope) for op in self._enqueue_ops],
            close_op_name=_strip_scope(self._close_op.name, export_scope),
            cancel_op_name=_strip_scope(self._cancel_op.name, export_scope),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(cls) for cls in self._closed_types
            ],
        )

    @staticmethod
    def from_proto(
        queue_runner_def: QueueRunnerDef, import_scope: str | None = None
    ) -> "QueueRunner":
        """Makes a runner of names that are looked up in the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def _fill(self, sess: Any, enqueue_op: Any, coord: Any) -> None:
        """The body of a filling thread."""
        is_counted = True
        try:
            _repeat(sess, enqueue_op, coord)
        except self._closed_types as error:
            self._tell_of_stop_iteration(error)
            is_counted = False
            if self._count_end(sess) == 0:
                _run_ignoring_errors(sess, self._close_op)
        except Exception as error:
            if coord is not None:
                coord.request_stop(error)
                return
            _log.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions_raised.append(error)
            raise
        finally:
            if is_counted:
                self._count_end(sess)

    def _tell_of_stop_iteration(self, error: errors.OpError) -> None:
        """Warns, once, if a Python function has ended the input without saying so.

        TensorFlow takes a StopIteration for the end of the input, also one that comes out of a
        function by mistake.
        """
        cause = error.__cause__
        if not isinstance(cause, StopIteration) or self._has_told:
            return
        self._has_told = True
        place = traceback.extract_tb(cause.__traceback__)[-1:]
        _log.warning(
            "queue '%s': the Python function of operation '%s' raised StopIteration (%s), which "
            "ends the input. If that was not meant, catch it in the function. If it was, raise "
            "tf.errors.OutOfRangeError there instead, and nothing is logged.",
            self.name,
            error.op.name if error.op else "unknown",
            ", ".join(f"{frame.filename}:{frame.lineno}" for frame in place),
        )

    def _cancel_on_stop(self, sess: Any, coord: Any) -> None:
        """The body of the thread that waits for the stop."""
        coord.wait_for_stop()
        _run_ignoring_errors(sess, self._cancel_op)

    def _count_end(self, sess: Any) -> int:
        """Counts the end of a thread and returns how many of the session still run."""
        with self._lock:
            self._num_running[sess] -= 1
            return self._num_running[sess]


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to a collection of the default graph, for `start_queue_runners` to find."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Session | None = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Makes the threads of all runners in a collection of the session's graph.

    Args:
        sess: The session to run in; by default the default session.
        coord: Stops the threads, hears of their errors and joins them.
        daemon: Whether the threads do not keep the program alive.
        start: Whether to start them here.
        collection: Key of the collection.

    Returns:
        The threads of all runners, without those of runners that are running already.

    Raises:
        ValueError: If no session is given and there is no default one.
        TypeError: If `sess` is not a session.

    Source: `tf.train.start_queue_runners` of TensorFlow 1.15.
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
    if not runners:
        _log.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. "
            "You can safely remove the call to this deprecated function."
        )
    threads: list[threading.Thread] = []
    for runner in runners:
        threads += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    return threads


def _check_closed_types(types: object) -> tuple[type[errors.OpError], ...]:
    if types is None:
        return (errors.OutOfRangeError,)
    is_valid = isinstance(types, tuple) and all(
        isinstance(cls, type) and issubclass(cls, errors.OpError) for cls in types
    )
    if not (is_valid and types):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
            f"but saw: {types!r}"
        )
    assert isinstance(types, tuple)
    return types


def _repeat(sess: Any, op: Any, coord: Any) -> None:
    """Runs an operation again and again until it raises or the coordinator stops."""
    has_callbacks = coord is None or hasattr(coord, "add_stop_callback")
    if not (has_callbacks and hasattr(sess, "run_loop")):
        while coord is None or not coord.should_stop():
            sess.run(op)
        return
    op = sess.graph.as_graph_element(op)
    if isinstance(op, Tensor):
        op = op.op
    flag: _StopFlag = sess.make_stop_flag()
    if coord is None:
        sess.run_loop(op, flag)
        return
    coord.add_stop_callback(flag.set)
    try:
        if not flag.is_set():
            sess.run_loop(op, flag)
    finally:
        coord.remove_stop_callback(flag.set)


def _run_ignoring_errors(sess: Any, op: Any) -> None:
    """Runs an operation that closes a queue; the queue, or the session, may be closed already."""
    try:
        sess.run(op)
    except Exception as error:
        _log.debug("Ignored exception: %s", error)


def _add_scope(name: str, scope: str | None) -> str:
    return f"{scope.removesuffix('/')}/{name}" if scope else name


def _strip_scope(name: str, scope: str | None) -> str:
    """Takes a scope off the beginning of a name; other names stay as they are."""
    if not scope:
        return name
    rest = name.removeprefix(scope.removesuffix("/"))
    return rest.lstrip("/") if rest != name and rest.startswith("/") else name
