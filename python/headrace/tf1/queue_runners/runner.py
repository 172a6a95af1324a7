"""Queue runners, which keep a queue filled with one thread per enqueue operation.

The threads are ordinary Python threads that you can see and join. Each thread makes one native
call, which repeats the operation until the input ends, something fails or a stop is requested.
Sessions from other libraries also work if they have `run`, and so do coordinators if they have
`should_stop`, `request_stop`, `wait_for_stop` and `register_thread`. The loop then runs in Python.

Source: `tf.train.QueueRunner` in TensorFlow 1.15.
"""

import logging
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from headrace.core import errors
from headrace.graph import get_default_graph
from headrace.tf1.coordinator import exception_of
from headrace.tf1.ops.queues import QueueBase
from headrace.tf1.queue_runners.definition import (
    QueueRunnerDef,
    add_scope,
    check_closed_types,
    strip_scope,
)
from headrace.tf1.queue_runners.filling_threads import Census
from headrace.tf1.queue_runners.loops import (
    CoordinatorLike,
    FindSession,
    SupportsRun,
    has_native_loops,
    make_loop,
    request_stop,
    run_ignoring_errors,
    wait_for_stop,
    warn_of_stop_iteration,
    weakly,
)
from headrace.tf1.session import Progress, Session, register_producer

__all__ = ["QueueRunner"]

_log = logging.getLogger(__name__)


class _Named(Protocol):
    """A queue, an operation or a tensor. A runner reads only its name."""

    @property
    def name(self) -> str: ...


class QueueRunner:
    """Runs each of several enqueue operations of a queue in a separate thread.

    A thread ends when its operation raises one of the queue-closed types. The last thread that ends
    in this way closes the queue. Any other exception, including `SystemExit`, is reported to the
    coordinator. If there is no coordinator, the exception is kept in `exceptions_raised` and raised
    in the thread, and the last thread to end closes the queue. In both cases, the exception is the
    cause of the `OutOfRangeError` in the consumer.

    Threads do not keep a session alive. If the session is garbage-collected, or
    `tf.reset_default_graph` drops its graph, the threads end without an error.

    A subclass can override `_run(sess, enqueue_op, coord)`, the body of a filling thread, and
    `_close_on_stop(sess, cancel_op, coord)`. These methods and the private attributes are the same
    as in TensorFlow 1.15, so subclasses written for TensorFlow work.

    Args:
        queue: The queue that the operations fill.
        enqueue_ops: The operations, one per thread. An operation can occur several times.
        close_op: Closes the queue and lets pending enqueues finish. Defaults to `queue.close()`.
        cancel_op: Closes the queue and cancels pending enqueues. Defaults to
            `queue.close(cancel_pending_enqueues=True)`.
        queue_closed_exception_types: The errors that mean the end of the input. Defaults to
            `(OutOfRangeError,)`.
        queue_runner_def: The result of `to_proto`, which replaces all arguments above. The names
            are looked up in the default graph, and the attribute `queue` is the operation of the
            queue.
        import_scope: The name scope to add before the names of `queue_runner_def`.

    Raises:
        ValueError: If `queue` or `enqueue_ops` is missing or empty, or is combined with
            `queue_runner_def`.
        TypeError: If `queue_closed_exception_types` is not a tuple of `OpError` types, or is empty.
        KeyError: If a name in `queue_runner_def` does not exist in the default graph.

    Source: `tf.train.QueueRunner` in TensorFlow 1.15.
    """

    def __init__(
        self,
        queue: _Named | None = None,
        enqueue_ops: Sequence[_Named] | None = None,
        close_op: _Named | None = None,
        cancel_op: _Named | None = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
        queue_runner_def: QueueRunnerDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._init_from_proto(queue_runner_def, import_scope)
        else:
            self._init_from_args(
                queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types
            )
        self._lock = threading.Lock()
        # The number of unfinished threads in each session. `create_threads` sets it, and each
        # `_run` decreases it at its end. The lock guards this and everything below.
        self._runs_per_session: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[BaseException] = []
        self._has_warned = False
        self._census = Census()
        # The sessions in which the closing operation has run.
        self._closed_in: weakref.WeakSet[Any] = weakref.WeakSet()
        # The sessions in which the loops of the runner's threads can pause.
        self._pausable_in: weakref.WeakSet[Any] = weakref.WeakSet()
        register_producer(self)

    def _init_from_args(
        self,
        queue: _Named | None = None,
        enqueue_ops: Sequence[_Named] | None = None,
        close_op: _Named | None = None,
        cancel_op: _Named | None = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
    ) -> None:
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._queue_closed_exception_types = check_closed_types(queue_closed_exception_types)
        self._queue: _Named = queue
        if isinstance(queue, QueueBase):
            queue.add_runner(self)
        self._enqueue_ops: list[_Named] = list(enqueue_ops)
        # If both operations are given, the queue may be an operation, which has no `close`.
        closable: Any = queue
        self._close_op: _Named = closable.close() if close_op is None else close_op
        self._cancel_op: _Named = (
            closable.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        )

    def _init_from_proto(
        self, queue_runner_def: QueueRunnerDef, import_scope: str | None = None
    ) -> None:
        graph = get_default_graph()

        def find(name: str) -> Any:
            return graph.as_graph_element(add_scope(name, import_scope))

        self._queue = find(queue_runner_def.queue_name)
        self._enqueue_ops = [find(name) for name in queue_runner_def.enqueue_op_name]
        self._close_op = find(queue_runner_def.close_op_name)
        self._cancel_op = find(queue_runner_def.cancel_op_name)
        codes = queue_runner_def.queue_closed_exception_types or (errors.OUT_OF_RANGE,)
        self._queue_closed_exception_types = tuple(
            errors.exception_type_from_error_code(code) for code in codes
        )

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    @property
    def queue(self) -> Any:
        """The queue, or its operation if the runner was created from a `QueueRunnerDef`."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The enqueue operations, one per thread, in a new list."""
        return list(self._enqueue_ops)

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
        """The errors that mean the end of the input."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """Errors that no coordinator received since the last `create_threads`, in a new list."""
        return list(self._exceptions_raised)

    def create_threads(
        self,
        sess: SupportsRun,
        coord: CoordinatorLike | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Creates the threads that fill the queue in a session.

        If there is a coordinator, one more thread waits for the stop and then cancels the queue, so
        that no call stays blocked.

        Args:
            sess: The session to run in.
            coord: The coordinator that stops the threads, receives their errors and joins them.
            daemon: Whether the threads are daemons, which do not keep the program alive.
            start: Whether to start the threads.

        Returns:
            The threads. The list is empty if earlier threads for the same session have not all
            ended, even if they were never started.
        """
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
            self._closed_in.discard(sess)
            self._note_pausable(sess, coord)
            threads = self._make_threads(sess, coord)
        if isinstance(sess, Session):
            sess.runners.add(self)
            sess.runners.life.adopt(threads)
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
        if start:
            self._start(threads, weakly(sess), coord)
        return threads

    def _note_pausable(self, sess: SupportsRun, coord: CoordinatorLike | None) -> None:
        self._pausable_in.discard(sess)
        if type(self)._run is QueueRunner._run and has_native_loops(sess, coord):
            self._pausable_in.add(sess)

    def _make_threads(
        self, sess: SupportsRun, coord: CoordinatorLike | None
    ) -> list[threading.Thread]:
        prefix, find_session = f"QueueRunnerThread-{self.name}", weakly(sess)
        filling = [
            threading.Thread(
                target=self._fill, args=(find_session, op, coord), name=f"{prefix}-{op.name}"
            )
            for op in self._enqueue_ops
        ]
        self._census.begin(sess, filling)
        if coord is None:
            return filling
        closing = threading.Thread(
            target=self._wait_to_close, args=(find_session, coord), name=f"{prefix}-close_on_stop"
        )
        return [*filling, closing]

    def _start(
        self,
        threads: list[threading.Thread],
        find_session: FindSession,
        coord: CoordinatorLike | None,
    ) -> None:
        """Starts threads. If one cannot be started, stops those that are running."""
        try:
            for thread in threads:
                thread.start()
        except BaseException as error:
            self._leave(find_session, [thread for thread in threads if thread.ident is None])
            self._report(find_session, coord, error)
            self._close(find_session, self._cancel_op)
            raise

    def progress_in(self, session: object) -> Progress:
        """Returns the progress of the runner in a session, for messages. Only in headrace."""
        # The lock is not acquired here, because a subclass may hold it while it closes the queue
        # and waits for free space.
        return self._census.progress(session, self._runs_per_session.get(session))

    def can_pause_in(self, session: object) -> bool:
        """Returns whether the threads in a session run loops that can pause. Only in headrace."""
        return session in self._pausable_in

    def filling_threads(self, session: object) -> tuple[threading.Thread, ...]:
        """Returns the threads that fill the queue of a session and have not ended.

        Only in headrace, for checkpoints. Threads that were never started are not included.
        """
        return self._census.filling(session)

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """Describes the runner by names.

        Args:
            export_scope: The name scope to remove from the names.

        Returns:
            The names, or None if the name of the queue does not start with the scope.

        Raises:
            KeyError: If a queue-closed type does not have its own error code.
        """
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        return QueueRunnerDef(
            queue_name=strip_scope(self.name, export_scope),
            enqueue_op_name=[strip_scope(op.name, export_scope) for op in self._enqueue_ops],
            close_op_name=strip_scope(self._close_op.name, export_scope),
            cancel_op_name=strip_scope(self._cancel_op.name, export_scope),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(cls)
                for cls in self._queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(
        queue_runner_def: QueueRunnerDef, import_scope: str | None = None
    ) -> "QueueRunner":
        """Creates a runner from names that are looked up in the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def _fill(
        self, find_session: FindSession, enqueue_op: _Named, coord: CoordinatorLike | None
    ) -> None:
        """The body of a filling thread: calls `_run` and reports every error."""
        try:
            if find_session() is not None:
                self._run(find_session(), enqueue_op, coord)
        except BaseException as error:
            if not self._report(find_session, coord, error):
                raise
        finally:
            self._leave(find_session, [threading.current_thread()])

    def _wait_to_close(self, find_session: FindSession, coord: CoordinatorLike) -> None:
        """The body of the thread that waits for a stop."""
        if find_session() is not None:
            self._close_on_stop(find_session(), self._cancel_op, coord)

    def _run(self, sess: Any, enqueue_op: Any, coord: Any = None) -> None:
        """Repeats an operation until the input ends, a step fails or a stop is requested.

        Neither this call nor the traceback of an error keeps the session alive.
        """
        term = sess.runners.life.term if isinstance(sess, Session) else None
        find_session = weakly(sess)
        is_counted = False
        try:
            loop = make_loop(sess, enqueue_op, coord)
            del sess
            loop()
        except self._queue_closed_exception_types as end:
            is_counted = True
            self._end_input(find_session, end)
        except BaseException as error:
            is_quiet = term is not None and term.is_abandoned
            if not (is_quiet or self._report(find_session, coord, error)):
                raise
        finally:
            if not is_counted:
                self._count_end(find_session)

    def _close_on_stop(self, sess: Any, cancel_op: Any, coord: Any) -> None:
        """Waits for a stop and closes the queue. Also returns if the session ends."""
        find_session = weakly(sess)
        life = sess.runners.life if isinstance(sess, Session) else None
        del sess
        wait_for_stop(coord, life)
        self._cancel(find_session, cancel_op, coord)

    def _cancel(self, find_session: FindSession, cancel_op: _Named, coord: CoordinatorLike) -> None:
        sess, cause = find_session(), exception_of(coord)
        if sess is None:
            return
        if cause is not None and sess not in self._closed_in and isinstance(sess, Session):
            sess.runners.fail(self, cause)
        run_ignoring_errors(sess, cancel_op)

    def _end_input(self, find_session: FindSession, end: BaseException) -> None:
        """Counts a thread whose input has ended. The last one closes the queue."""
        if isinstance(end.__cause__, StopIteration):
            with self._lock:
                is_first, self._has_warned = not self._has_warned, True
            if is_first:
                warn_of_stop_iteration(self.name, end)
        sess = find_session()
        is_our_session = isinstance(sess, Session)
        if is_our_session and sess.runners.is_failure(end.__cause__):
            # The input did not end, but failed upstream. The consumer of this queue gets that
            # error.
            sess.runners.fail(self, end.__cause__)
        if self._count_end(find_session) == 0:
            self._close(find_session, self._close_op)

    def _report(
        self, find_session: FindSession, coord: CoordinatorLike | None, error: BaseException
    ) -> bool:
        """Reports the error that ended a thread. Returns whether the coordinator received it."""
        sess = find_session()
        # Errors after a stop are caused by the stop.
        is_first = coord is None or not coord.should_stop()
        if is_first and isinstance(sess, Session):
            sess.runners.fail(self, error)
        if coord is not None and request_stop(coord, error):
            return True
        if isinstance(error, errors.CancelledError) and sess in self._closed_in:
            # This runner has closed the queue itself and reported the reason.
            return True
        with self._lock:
            is_new = not any(raised is error for raised in self._exceptions_raised)
            if is_new:
                self._exceptions_raised.append(error)
        if is_new:
            _log.error("Exception in QueueRunner: %s", error)
        return False

    def _leave(self, find_session: FindSession, threads: Sequence[threading.Thread]) -> None:
        """Removes ended threads. The last one closes the queue if there were errors."""
        sess = find_session()
        if sess is None:
            return
        with self._lock:
            is_last = self._census.leave(sess, threads)
            if is_last:
                # This is needed if a subclass does not count its threads.
                self._runs_per_session[sess] = 0
        if is_last and self._exceptions_raised:
            self._close(find_session, self._close_op)

    def _close(self, find_session: FindSession, op: _Named) -> None:
        """Closes the queue with one of its operations, unless it was already closed."""
        sess = find_session()
        if sess is None:
            return
        with self._lock:
            is_closed = sess in self._closed_in
            self._closed_in.add(sess)
        if not is_closed:
            run_ignoring_errors(sess, op)

    def _count_end(self, find_session: FindSession) -> int:
        """Counts the end of a thread. Returns how many threads of the session still run."""
        sess = find_session()
        if sess is None:
            return 0
        with self._lock:
            self._runs_per_session[sess] -= 1
            return self._runs_per_session[sess]
