"""The queues that an operation fills and drains when it runs."""

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.graph import Operation, Role

__all__ = ["Flow", "flow_of", "needed_by"]


@dataclass(frozen=True)
class Flow:
    """The queues that some operations work on, by the operations that represent them.

    Attributes:
        ops: All operations that run.
        filled: The queues that they put elements in.
        drained: The queues that they take elements out of.
    """

    ops: frozenset[Operation]
    filled: frozenset[Operation]
    drained: frozenset[Operation]


def flow_of(ops: Iterable[Operation]) -> Flow:
    """Returns the flow of all operations that run when some operations run."""
    needed = needed_by(ops)
    waiting = [op for op in needed if op.definition.queue_input is not None]
    filled = [queue for op in waiting if op.definition.is_enqueue for queue in _queues(op)]
    drained = [queue for op in waiting if not op.definition.is_enqueue for queue in _queues(op)]
    return Flow(frozenset(needed), frozenset(filled), frozenset(drained))


def needed_by(ops: Iterable[Operation]) -> list[Operation]:
    """Returns some operations and all that must run before them."""
    needed = dict.fromkeys(ops)
    for op in (waiting := list(needed)):  # Grows while it is read.
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
    """The queue that an operation waits in, or those of which a run picks one."""
    index = op.definition.queue_input
    assert index is not None
    queue = op.inputs[index].op
    if queue.definition.role is Role.SELECTION:
        return [tensor.op for tensor in queue.inputs[1:]]
    return [queue]
