"""Explains why runs wait, for warnings after a long wait and for the error that ends it."""

import logging
import threading
import weakref
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Final, NoReturn, Protocol

from headrace.core import engine, errors
from headrace.graph import Graph, GraphKeys, Operation, Role
from headrace.tf1.session.runners import Producer, Progress, Runners

__all__ = ["Waits", "Watch"]

_NO_PRODUCER: Final = (
    "it has no runner, and no other thread could fill it. Enqueue elements first, or create "
    "a tf.train.QueueRunner for it."
)
_UNINITIALIZED: Final = "Attempting to use uninitialized value "
# Queue runner threads. Each fills only its own queue.
_RUNNER_THREADS: Final = "QueueRunnerThread-"

_log = logging.getLogger(__name__)


class _Session(Protocol):
    @property
    def graph(self) -> Graph: ...

    @property
    def is_closed(self) -> bool: ...

    @property
    def runners(self) -> Runners: ...


@dataclass(frozen=True)
class _Wait:
    """An operation that is waiting, with its queue."""

    op: Operation
    queue: Operation | None
    is_enqueue: bool

    def __str__(self) -> str:
        if self.queue is None:
            return f"operation '{self.op.name}'"
        what = "room in queue" if self.is_enqueue else "queue"
        return f"{what} '{self.queue.name}' (operation '{self.op.name}')"


class Watch:
    """Receives the engine's reports of long waits in a session.

    The engine holds a reference to this object that the garbage collector cannot see, so the object
    itself must not hold references.

    Args:
        waits: The object to call, which is not kept alive.
    """

    def __init__(self, waits: "Waits") -> None:
        self.find_waits = weakref.ref(waits)

    def __call__(self, names: list[str]) -> None:
        """Warns about waiting operations if the session still exists."""
        waits = self.find_waits()
        if waits is not None:
            waits.look(names)

    def explain(self, op: str) -> str | None:
        """Describes why an operation waits, if the session still exists."""
        waits = self.find_waits()
        return None if waits is None else waits.explain(op)


class Waits:
    """Explains why a session's runs wait, and why they may never end.

    Args:
        session: The session, which is not kept alive.

    Attributes:
        patience_secs: The time in seconds that a run waits before `look` is called.
    """

    patience_secs: ClassVar[float] = 3.0

    def __init__(self, session: "_Session") -> None:
        self._graph = session.graph
        self._find_session = weakref.ref(session)
        self._lock = threading.Lock()
        # The queues about which a warning was given. Guarded by the lock.
        self._warned: set[Operation] = set()

    def look(self, names: list[str]) -> None:
        """Warns once per queue if operations are waiting for a queue that nothing fills."""
        for name in names:
            wait = self._wait(name)
            if wait is None or wait.queue is None:
                continue
            reason = self._reason(wait)
            if reason is not None and self._is_new(wait.queue):
                _log.warning(
                    "queue '%s': operation '%s' is still waiting, but %s",
                    *(wait.queue.name, wait.op.name, reason),
                )

    def _is_new(self, queue: Operation) -> bool:
        """Returns whether this is the first warning about a queue.

        Always False once the session is closed.
        """
        session = self._find_session()
        if session is None or session.is_closed:
            return False
        with self._lock:
            is_new = queue not in self._warned
            self._warned.add(queue)
        return is_new

    def raise_op_error(self, error: engine.EngineError) -> NoReturn:
        """Raises the error from `headrace.core.errors` for an engine error, with an explanation.

        If a queue ended because its runner failed, or a wait timed out, the runner's error is the
        cause of the raised error.
        """
        code, message, name, _ = error.args
        remark, failure = "", None
        if code == errors.OUT_OF_RANGE:
            wait = self._wait(name)
            failure = None if wait is None else self._failure(wait)
            if failure is not None:
                remark = f"\n\t because a queue runner failed: {_summary(failure)}"
        elif code == errors.FAILED_PRECONDITION and message.startswith(_UNINITIALIZED):
            remark = self._how_to_initialize(message.removeprefix(_UNINITIALIZED))
        else:
            wait = self._wait(getattr(error, "waiting", None))
            if wait is not None:
                remark, failure = f"\n\t {self._describe(wait)}", self._failure(wait)
        engine.raise_op_error(error, self._graph, remark, failure)

    def explain_interrupt(self, error: BaseException) -> None:
        """Adds a note about a run's wait to the exception that interrupted it."""
        name = vars(error).pop("waiting", None)
        wait = self._wait(name)
        if wait is None:
            return
        errors.add_note(error, self._describe(wait))
        with suppress(Exception):  # The exception of a user's signal handler may be read-only.
            error.__cause__ = error.__cause__ or self._failure(wait)

    def explain(self, name: str) -> str | None:
        """Explains why an operation waits and why this may never end. None if unknown."""
        wait = self._wait(name)
        return None if wait is None else self._explained(wait)

    def _describe(self, wait: _Wait) -> str:
        return f"the run was waiting for {self._explained(wait)}"

    def _explained(self, wait: _Wait) -> str:
        text, reason, failure = str(wait), self._reason(wait), self._failure(wait)
        if reason is not None:
            return f"{text}, but {reason}"
        return text if failure is None else f"{text}. A queue runner failed: {_summary(failure)}"

    def _wait(self, name: str | None) -> _Wait | None:
        """Describes the wait of the named operation, or returns None if it does not exist."""
        try:
            op = None if name is None else self._graph.get_operation_by_name(name)
        except (KeyError, ValueError):
            op = None
        if op is None:
            return None
        index = op.definition.queue_input
        queue = None if index is None else op.inputs[index].op
        if queue is not None and queue.definition.role is Role.SELECTION:
            queue = None
        return _Wait(op, queue, op.definition.is_enqueue)

    def _producers(self, wait: _Wait) -> list[Producer]:
        session = self._find_session()
        if session is None or wait.queue is None or wait.is_enqueue:
            return []
        return session.runners.of_queue(wait.queue)

    def _failure(self, wait: _Wait) -> BaseException | None:
        """Returns the first error of a runner of the queue that the operation is waiting for."""
        session = self._find_session()
        if session is None:
            return None
        failures = map(session.runners.failure_of, self._producers(wait))
        return next((failure for failure in failures if failure is not None), None)

    def _reason(self, wait: _Wait) -> str | None:
        """Returns the reason why the wait cannot end, with a remedy, or None if it may end."""
        session, producers = self._find_session(), self._producers(wait)
        if session is None or wait.queue is None or wait.is_enqueue:
            return None
        if not producers:
            return None if _other_threads() else _NO_PRODUCER
        progress = {producer: producer.progress_in(session) for producer in producers}
        if Progress.RUNNING in progress.values():
            return None
        if Progress.THREADS_NOT_STARTED in progress.values():
            return (
                "the threads of its runner were created but never started. Call start() on "
                "each, or create_threads(sess, coord, start=True)."
            )
        if Progress.ENDED in progress.values():
            failure = self._failure(wait)
            why = "" if failure is None else f": {_summary(failure)}"
            return f"all threads of its runner have ended without closing it{why}"
        return self._why_not_started(producers, session.runners.collections)

    def _why_not_started(self, producers: list[Producer], keys: set[Hashable]) -> str:
        if any(
            producer in self._graph.get_collection(key) for key in keys for producer in producers
        ):
            return (
                "its runner was added after start_queue_runners. Call "
                "tf.train.start_queue_runners after you have built the whole graph, or call "
                "it once more."
            )
        if any(producer in self._graph.get_collection(_RUNNERS) for producer in producers):
            return (
                "its runner was never started in this session. Call "
                "tf.train.start_queue_runners(sess, coord) before the first run."
            )
        return (
            "its runner was never started in this session. Call runner.create_threads(sess, coord, "
            "start=True), or tf.train.add_queue_runner(runner) before start_queue_runners."
        )

    def _how_to_initialize(self, name: str) -> str:
        for key, kind, initializer in _INITIALIZERS:
            if any(variable.op.name == name for variable in self._graph.get_collection(key)):
                return f"\n\t It is a {kind} variable: run tf.{initializer}() before anything else."
        return "\n\t It is not in any collection of variables: run its own initializer first."


_RUNNERS: Final = GraphKeys.QUEUE_RUNNERS
_INITIALIZERS: Final = (
    (GraphKeys.LOCAL_VARIABLES, "local", "local_variables_initializer"),
    (GraphKeys.GLOBAL_VARIABLES, "global", "global_variables_initializer"),
)


def _other_threads() -> list[threading.Thread]:
    """Returns the threads that may be about to fill a queue without a runner."""
    this = threading.current_thread()
    return [
        thread
        for thread in threading.enumerate()
        if thread is not this and not thread.name.startswith(_RUNNER_THREADS)
    ]


def _summary(error: BaseException) -> str:
    """Returns the text of an error on one line, without the origin of its operation."""
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if not line.startswith(("[[{{node", "defined at "))]
    return f"{type(error).__name__}: {'. '.join(line.removesuffix('.') for line in lines)}"
