"""The queues that an operation fills and drains when it runs."""

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.graph import Operation, Role

__all__ = ["Flow", "flow_of", "needed_by"]


@dataclass(frozen=True)
class Flow:
    """The queues that operations use. Each queue is represented by its operation.

    Attributes:
        ops: All operations that run.
        filled: The queues to which the operations add elements.
        drained: The queues from which the operations take elements.
    """

    ops: frozenset[Operation]
    filled: frozenset[Operation]
    drained: frozenset[Operation]


def flow_of(ops: Iterable[Operation]) -> Flow:
    """Returns the flow of all operations that run when the given operations run."""
    needed = needed_by(ops)
    waiting = [op for op in needed if op.definition.queue_input is not None]
    filled = [queue for op in waiting if op.definition.is_enqueue for queue in _queues(op)]
    drained = [queue for op in waiting if not op.definition.is_enqueue for queue in _queues(op)]
    return Flow(frozenset(needed), frozenset(filled), frozenset(drained))


def needed_by(ops: Iterable[Operation]) -> list[Operation]:
    """Returns the given operations and all operations that must run before them."""
    needed = dict.fromkeys(ops)
    for op in (waiting := list(needed)):  # The list grows while the loop reads it.
        before = [*(tensor.op for tensor in op.inputs), *op.control_inputs]
        if op.repeats is not None:
            before += [tensor.op for tensor in op.repeats.needed]
        if op.branch is not None:
            before += [branch.predicate.op for branch in op.branch.path]
        new = dict.fromkeys(other for other in before if other not in needed)
        needed.update(new)
        waiting += new
    return list(needed)


def _queues(op: Operation) -> list[Operation]:
    """Returns the queue in which an operation waits, or the queues from which a run selects one."""
    index = op.definition.queue_input
    assert index is not None
    queue = op.inputs[index].op
    if queue.definition.role is Role.SELECTION:
        return [tensor.op for tensor in queue.inputs[1:]]
    return [queue]
