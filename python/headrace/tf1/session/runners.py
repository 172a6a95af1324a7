"""Keeps the list, the errors and the lifetime of a session's queue runners.

`QueueRunner` itself is in a higher layer. This module uses only the `Producer` protocol.
"""

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from typing import Any, Protocol

from headrace.core import engine
from headrace.graph import GraphElementLike, Operation
from headrace.tf1.ops.queues import QueueBase
from headrace.tf1.session.pausing import Pausing

__all__ = ["Life", "Producer", "Progress", "Runners", "Term", "register_producer"]


class Progress(Enum):
    """The progress of a runner in a session."""

    NOT_STARTED = "it has no threads"
    THREADS_NOT_STARTED = "its threads were created but not started"
    RUNNING = "at least one of its threads is alive"
    ENDED = "all its threads have ended"


class Producer(Protocol):
    """A queue runner, seen as the source of a queue's elements."""

    @property
    def queue(self) -> object:
        """The queue, or the operation that represents it."""

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The errors that were not reported to a coordinator."""

    @property
    def cancel_op(self) -> GraphElementLike:
        """The operation that closes the queue immediately."""

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that the runner's threads repeat."""

    def progress_in(self, session: object) -> Progress:
        """Returns the runner's progress in a session."""

    def can_pause_in(self, session: object) -> bool:
        """Returns whether the runner's threads in a session run loops that can pause."""

    def filling_threads(self, session: object) -> tuple[threading.Thread, ...]:
        """Returns the runner's threads that fill the queue of a session and have not ended."""


class Term:
    """One period in the lifetime of a session's runners.

    Attributes:
        cancellation: The cancellation that ends the native loops.
        is_abandoned: Whether the term ended without an error, because the runners are no longer
            needed.
    """

    def __init__(self, cancellation: engine.Cancellation) -> None:
        self.cancellation = cancellation
        self.is_abandoned = False


class Life:
    """The lifetime of a session's runners.

    The object references neither the session nor its runners, so that an unused session can be
    garbage-collected while runner threads are active.

    The lifetime consists of consecutive terms. A term ends when the graph is reset. A runner's
    thread belongs to the term in which it was created, even if it starts to run later.

    Args:
        session: The cancellation of the session.
    """

    def __init__(self, session: engine.Cancellation) -> None:
        self._session = session
        # The lock is re-entrant, because the garbage collector may end a session in a thread that
        # is inside this class.
        self._lock = threading.RLock()
        # Guarded by the lock.
        self._callbacks: list[Callable[[], object]] = []
        self._current = Term(session.child())
        self._terms: weakref.WeakKeyDictionary[threading.Thread, Term] = weakref.WeakKeyDictionary()

    @property
    def term(self) -> Term:
        """The term of the calling thread: the current one, or one that `adopt` has recorded."""
        with self._lock:
            return self._terms.get(threading.current_thread(), self._current)

    def adopt(self, threads: Iterable[threading.Thread]) -> None:
        """Records that threads belong to the current term."""
        with self._lock:
            self._terms.update(dict.fromkeys(threads, self._current))

    def end(self, is_abandoned: bool) -> None:
        """Ends the current term and its threads. Later threads belong to the next term."""
        with self._lock:
            ended, self._current = self._current, Term(self._session.child())
            callbacks, self._callbacks = self._callbacks, []
        ended.is_abandoned |= is_abandoned
        ended.cancellation.cancel()
        for callback in callbacks:
            callback()

    def end_with_session(self) -> None:
        """Ends the last term with the garbage-collected session. Does nothing if it was closed."""
        if not self._session.is_cancelled():
            self._current.is_abandoned = True
            self._session.cancel()
            self.end(is_abandoned=True)

    def call_at_end(self, callback: Callable[[], object]) -> None:
        """Registers a function to call, maybe twice, at the end of this term. It must not block."""
        with self._lock:
            self._callbacks.append(callback)
            is_over = self._session.is_cancelled() or self.term is not self._current
        if is_over:
            callback()

    def forget(self, callback: Callable[[], object]) -> None:
        """Removes a function registered with `call_at_end`."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)


class Runners:
    """The runners of a session. Safe to use from many threads at once.

    Args:
        cancellation: The cancellation of the session.

    Attributes:
        life: The lifetime of the runners.
        pausing: The `Pausing` that pauses the runners' loops.
        collections: The keys of the collections that `start_queue_runners` has started.
    """

    def __init__(self, cancellation: engine.Cancellation) -> None:
        self.life = Life(cancellation)
        self.pausing = Pausing()
        self.collections: set[Hashable] = set()
        self._lock = threading.Lock()
        # Guarded by the lock. Runners are kept alive, because their errors are read after they end.
        self._started: list[Producer] = []
        self._failures: dict[Producer, BaseException] = {}

    def add(self, producer: Producer) -> None:
        """Records that a runner is about to start threads. Clears its last failure."""
        with self._lock:
            self._failures.pop(producer, None)
            if producer not in self._started:
                self._started.append(producer)

    def fail(self, producer: Producer, error: BaseException) -> None:
        """Records the error that closed a runner's queue early. Only the first error is kept."""
        with self._lock:
            self._failures.setdefault(producer, error)

    def failure_of(self, producer: Producer) -> BaseException | None:
        """Returns the first error of a runner: its own, or the one that stopped it."""
        with self._lock:
            failure = self._failures.get(producer)
        return failure or next(iter(producer.exceptions_raised), None)

    def is_failure(self, error: BaseException | None) -> bool:
        """Returns whether a runner has failed with this error."""
        with self._lock:
            return any(failure is error for failure in self._failures.values())

    def of_graph(self, graph: object) -> list[Producer]:
        """Returns all runners of a graph's queues, whether or not they were started here."""
        with self._lock:
            started = list(self._started)
        return started + [runner for runner in _runners_of(graph) if runner not in started]

    def of_queue(self, queue: Operation) -> list[Producer]:
        """Returns all runners of a queue, whether or not they were started here."""
        return [
            runner
            for runner in self.of_graph(queue.graph)
            if _is_same_queue(_queue_op(runner), queue)
        ]


_lock = threading.RLock()
# All runners, by the graph of their queue. Guarded by the lock.
_producers: "weakref.WeakKeyDictionary[Any, weakref.WeakSet[Any]]" = weakref.WeakKeyDictionary()


def register_producer(producer: Producer) -> None:
    """Registers a runner for all sessions without keeping the runner alive."""
    op = _queue_op(producer)
    if op is not None:
        with _lock:
            _producers.setdefault(op.graph, weakref.WeakSet()).add(producer)


def _runners_of(graph: object) -> list[Producer]:
    with _lock:
        return list(_producers.get(graph, ()))


def _queue_op(producer: Producer) -> Operation | None:
    queue = producer.queue
    if isinstance(queue, QueueBase):
        return queue.queue_ref.op
    return queue if isinstance(queue, Operation) else None


def _is_same_queue(op: Operation | None, queue: Operation) -> bool:
    if op is None or op is queue:
        return op is queue
    shared_name = queue.attrs.get("shared_name")
    return bool(shared_name) and shared_name == op.attrs.get("shared_name")
