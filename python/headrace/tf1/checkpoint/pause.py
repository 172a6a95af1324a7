"""Pauses all queue runners of a session between two steps, so that no runner holds an element."""

import contextlib
import logging
import threading
import time
from collections.abc import Collection, Iterator
from typing import Final

from headrace.core import engine, errors
from headrace.core.wait_registry import RegisteredWait
from headrace.graph import Operation, SessionResource
from headrace.tf1.checkpoint.runners import Runner, repeated_ops, running
from headrace.tf1.session import Pausing, Session, needed_by

__all__ = ["paused"]

# Loops don't notify anyone when they start to wait, so they are polled: at short intervals at
# first, then at this interval.
_FIRST_LOOK_SECS: Final = 0.001
_LONGEST_LOOK_SECS: Final = 0.05
# After this many seconds, the pause logs the runner that it is waiting for.
_PATIENCE_SECS: Final = 3.0

_log = logging.getLogger(__name__)


@contextlib.contextmanager
def paused(session: Session) -> Iterator[None]:
    """Pauses all runners of a session between two steps for the duration of a `with` block.

    Each runner pauses before the runners that feed it. Otherwise, a step could wait for an element
    that never arrives. A step can end even if its queue is full: the queue accepts the element and
    adds it as soon as there is room.

    Raises:
        FailedPreconditionError: If a runner cannot pause. All runners then continue.
    """
    pausing = session.runners.pausing
    with pausing.turn:
        try:
            waiting = [Runner(session, producer) for producer in running(session)]
            _check(waiting)
            # Threads started in the meantime pause before their first step.
            pausing.ask(_idle_ops(session, waiting))
            while waiting:
                group = _next_group(waiting)
                waiting = [runner for runner in waiting if runner not in group]
                _pause(pausing, group, waiting)
            yield
        finally:
            pausing.release()


def _idle_ops(session: Session, runners: Collection[Runner]) -> set[Operation]:
    """Returns the operations of idle runners. Active runners may share some of them."""
    producers = session.runners.of_graph(session.graph)
    ops = {op for producer in producers for op in repeated_ops(session, producer)}
    return ops.difference(*(runner.ops for runner in runners))


def _check(runners: Collection[Runner]) -> None:
    for runner in runners:
        if threading.current_thread() in runner.busy_threads():
            raise _refusal(
                runner, "tries to save the checkpoint itself. Call save in another thread."
            )
        for op in needed_by(runner.ops):
            is_area = op.definition.kept is SessionResource.STAGING_AREA
            if is_area or op.type == "BarrierTakeMany":
                where = "staging area" if is_area else "barrier"
                text = (
                    f"is running and may wait forever in a {where}. Save after its threads "
                    "have ended."
                )
                raise _refusal(runner, text)
        if not runner.can_pause:
            raise _refusal(
                runner,
                "is running and cannot be paused: it overrides QueueRunner._run, or its "
                "coordinator is not a tf.train.Coordinator. Save after its threads have "
                "ended.",
            )


def _next_group(waiting: list[Runner]) -> list[Runner]:
    """Returns the runners that feed no other runner, or all runners if they all feed each other."""
    last = [one for one in waiting if not any(other.is_fed_by([one]) for other in waiting)]
    return last or waiting


def _pause(pausing: Pausing, group: list[Runner], feeding: list[Runner]) -> None:
    """Pauses some runners, while the runners that feed them continue."""
    queues = frozenset[engine.Queue]().union(*(runner.filled for runner in group))
    pausing.ask(op for runner in group for op in runner.ops)
    try:
        for queue in queues:
            queue.accept(True)
        with RegisteredWait(lambda: _what_is_awaited(group)):
            _wait(pausing, group, feeding)
    finally:
        for queue in queues:
            queue.accept(False)


def _what_is_awaited(group: list[Runner]) -> str:
    queues = ", ".join(f"'{runner.name}'" for runner in group)
    return f"the runners of {queues} to finish their steps before a checkpoint"


def _wait(pausing: Pausing, group: list[Runner], feeding: list[Runner]) -> None:
    look_secs, begin, has_warned = _FIRST_LOOK_SECS, time.monotonic(), False
    with pausing.changed:
        while busy := [runner for runner in group if runner.busy_threads()]:
            if all(_is_at_entry(runner, busy, feeding) for runner in busy):
                return
            pausing.changed.wait(look_secs)
            look_secs = min(2 * look_secs, _LONGEST_LOOK_SECS)
            if time.monotonic() - begin < _PATIENCE_SECS:
                continue
            _check_feed(busy, feeding)
            if not has_warned:
                has_warned = True
                text = "the checkpoint is waiting for the runner of queue '%s' to finish its step"
                _log.warning(text, busy[0].name)


def _is_at_entry(runner: Runner, busy: list[Runner], feeding: list[Runner]) -> bool:
    """Returns whether a runner is waiting at the start of a step while nothing feeds it."""
    if runner.entry is None or runner.is_fed_by(feeding):
        return False
    sharing = [other for other in busy if runner.entry in other.drained]
    num_threads = sum(len(other.busy_threads()) for other in sharing)
    return bool(runner.entry.stats()["num_waiting_dequeues"] == num_threads)


def _check_feed(busy: list[Runner], feeding: list[Runner]) -> None:
    """Raises an error if a runner waits in the middle of a step and nothing will feed it."""
    for runner in busy:
        is_waiting = any(queue.stats()["num_waiting_dequeues"] for queue in runner.drained)
        if is_waiting and not runner.is_fed_by(feeding):
            raise _refusal(
                runner,
                "is in the middle of a step and is waiting for a queue that no runner fills. "
                "Enqueue more elements first, or save at another point.",
            )


def _refusal(runner: Runner, text: str) -> errors.FailedPreconditionError:
    return errors.FailedPreconditionError(
        None, None, f"save: the runner of queue '{runner.name}' {text}"
    )
