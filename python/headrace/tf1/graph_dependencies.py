"""Finds the queue runners and variables that tensors depend on, even through queues.

Before a program fetches tensors, it can find all runners to start and all variables to initialize,
without using the graph's collections.
"""

import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from headrace.graph import Operation, Tensor
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1.ops.queues import QueueBase
from headrace.tf1.ops.variables.variable import Variable
from headrace.tf1.queue_runners import CoordinatorLike, QueueRunner
from headrace.tf1.session import Session

__all__ = ["runners_of", "start_runners", "variables_of"]

_Values: TypeAlias = (
    Tensor
    | SparseTensor
    | Operation
    | QueueBase
    | Variable
    | list[Any]
    | tuple[Any, ...]
    | dict[Any, Any]
)


def runners_of(values: _Values) -> list[QueueRunner]:
    """Returns the runners of all queues that the values depend on.

    Args:
        values: Tensors, sparse tensors, operations, queues or variables, or lists, tuples and dicts
            of these.

    Returns:
        The runners, without duplicates. Runners whose queues are nearer to the values come first.
    """
    queues = [op.owner for op in _upstream(values) if isinstance(op.owner, QueueBase)]
    return list(dict.fromkeys(runner for queue in queues for runner in queue.runners))


def variables_of(values: _Values) -> list[Variable]:
    """Returns all variables that the values depend on, such as epoch counters.

    Args:
        values: See `runners_of`.
    """
    return [op.owner for op in _upstream(values) if isinstance(op.owner, Variable)]


def start_runners(
    session: Session,
    runners: Iterable[QueueRunner],
    coord: CoordinatorLike | None = None,
    daemon: bool = True,
    start: bool = True,
) -> list[threading.Thread]:
    """Creates the threads of queue runners.

    Args:
        session: The session in which the runners run.
        runners: The runners.
        coord: The coordinator that stops the threads, collects their errors and joins them.
        daemon: Whether the threads are daemon threads, which do not keep the program alive.
        start: Whether to start the threads.

    Returns:
        The threads of the runners that were not already running.
    """
    threads: list[threading.Thread] = []
    for runner in runners:
        threads += runner.create_threads(session, coord=coord, daemon=daemon, start=start)
    return threads


def _upstream(values: _Values) -> list[Operation]:
    """Returns all operations that the values depend on, even through queues, nearest first."""
    operations = dict.fromkeys(_operations(values))
    for op in (waiting := list(operations)):  # The list grows while the loop reads it.
        before = [*(tensor.op for tensor in op.inputs), *op.control_inputs, *_fillers(op)]
        if isinstance(op.owner, Variable):
            before.append(op.owner.initializer)
        if op.repeats is not None:
            before += [tensor.op for tensor in op.repeats.needed]
        if op.branch is not None:
            before += [branch.predicate.op for branch in op.branch.path]
        new = [other for other in before if other not in operations]
        operations.update(dict.fromkeys(new))
        waiting += dict.fromkeys(new)
    return list(operations)


def _fillers(op: Operation) -> Iterator[Operation]:
    """Yields the operations that fill a queue."""
    if isinstance(op.owner, QueueBase):
        for runner in op.owner.runners:
            yield from _operations(runner.enqueue_ops)


def _operations(value: _Values) -> Iterator[Operation]:
    if isinstance(value, Operation):
        yield value
    elif isinstance(value, (Tensor, Variable)):
        yield value.op
    elif isinstance(value, QueueBase):
        yield value.queue_ref.op
    elif isinstance(value, SparseTensor):
        yield from (part.op for part in (value.indices, value.values, value.dense_shape))
    elif isinstance(value, dict):
        yield from _operations(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _operations(item)
    else:
        raise TypeError(
            f"upstream: got {value!r}, expected tensors, operations, queues or variables, or "
            "anything else that a session can fetch."
        )
