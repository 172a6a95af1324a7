"""A session's queue runners during a pause, and the queues that they fill and drain."""

import threading
from collections.abc import Collection
from functools import cached_property

from headrace.core import engine
from headrace.graph import Operation, Role, Tensor
from headrace.tf1.session import Producer, Progress, Session, flow_of, needed_by

__all__ = ["Runner", "repeated_ops", "running"]


def running(session: Session) -> list[Producer]:
    """Returns the runners that are filling queues in a session."""
    return [
        producer
        for producer in session.runners.of_graph(session.graph)
        if producer.progress_in(session) is Progress.RUNNING
    ]


def repeated_ops(session: Session, producer: Producer) -> list[Operation]:
    """Returns the operations that the threads of a runner repeat."""
    elements = [session.graph.as_graph_element(op) for op in producer.enqueue_ops]
    return [element.op if isinstance(element, Tensor) else element for element in elements]


class Runner:
    """A queue runner in a session.

    Args:
        session: The session.
        producer: The `Producer`.

    Attributes:
        name: The name of the runner's queue.
        ops: The operations that the runner's threads repeat.
        filled: The queues that these operations fill.
        drained: The queues that these operations drain.
    """

    def __init__(self, session: Session, producer: Producer) -> None:
        self._session = session
        self._producer = producer
        self.name = str(getattr(producer.queue, "name", producer.queue))
        self.ops = repeated_ops(session, producer)
        flow = flow_of(self.ops)
        self.filled = self._queues(flow.filled)
        self.drained = self._queues(flow.drained)

    @property
    def can_pause(self) -> bool:
        """Whether the threads of the runner run loops that can pause."""
        return self._producer.can_pause_in(self._session)

    def busy_threads(self) -> list[threading.Thread]:
        """Returns the runner's threads that have neither ended nor paused."""
        pausing = self._session.runners.pausing
        threads = self._producer.filling_threads(self._session)
        return [thread for thread in threads if not pausing.is_resting(thread)]

    def is_fed_by(self, others: Collection["Runner"]) -> bool:
        """Returns whether another runner fills a queue that this one drains."""
        return any(other.filled & self.drained for other in others if other is not self)

    @cached_property
    def entry(self) -> engine.Queue | None:
        """The queue that the runner waits for at the start of a step, before it holds an element.

        None if a step may draw random numbers, take elements or change state before it waits.
        """
        needed = needed_by(self.ops)
        waits = [op for op in needed if _takes_elements(op)]
        if len(waits) != 1 or len(self.drained) != 1:
            return None
        others = [op for op in needed if op is not waits[0] and _has_effect(op)]
        is_behind = all(waits[0] in needed_by([op]) for op in others)
        return next(iter(self.drained)) if is_behind else None

    def _queues(self, ops: Collection[Operation]) -> frozenset[engine.Queue]:
        queues = [self._session.resources.get(op) for op in ops]
        return frozenset(queue for queue in queues if isinstance(queue, engine.Queue))


def _takes_elements(op: Operation) -> bool:
    return op.definition.queue_input is not None and not op.definition.is_enqueue


def _has_effect(op: Operation) -> bool:
    """Returns whether an operation changes the state of a session."""
    definition = op.definition
    if definition.role is not Role.COMPUTED:
        return False
    return definition.is_stateful or definition.is_random or definition.takes_variable
