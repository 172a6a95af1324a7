"""Helpers for tests of queues, with the same interface for all kinds.

Tests run blocking operations in threads, and continue as soon as the queue reports that a call
waits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.calls import TIMEOUT, Call, wait_until

import headrace.tf1 as tf
from headrace.tf1.queues import QueueStatistics


@dataclass(frozen=True)
class Kind:
    """A kind of queue, with the same interface for all.

    Elements are passed without a priority. A priority queue uses the row number, or the first
    component if that is an int32, so elements enqueued in ascending order are dequeued in the same
    order.
    """

    name: str
    has_order: bool = True

    def make(
        self, capacity: int = 10, dtypes: Any = (tf.int32,), shapes: Any = ((),), **kwargs: Any
    ) -> tf.QueueBase:
        if self.name == "RandomShuffleQueue":
            return tf.RandomShuffleQueue(capacity, 0, dtypes, shapes, **kwargs)
        if self.name == "PriorityQueue" and kwargs.get("names"):
            kwargs["names"] = ["priority", *kwargs["names"]]
        return getattr(tf, self.name)(capacity, dtypes, shapes, **kwargs)

    def element(self, *components: Any) -> Any:
        """Returns the argument that enqueues one element."""
        return (_priority(components[0]), *components) if self.is_priority else components

    def rows(self, *columns: Any) -> Any:
        """Returns the argument that enqueues several elements."""
        is_number = len(columns[0]) and np.asarray(columns[0]).ndim == 1
        numbers = columns[0] if is_number else range(len(columns[0]))
        return self.batch([_priority(number) for number in numbers], *columns)

    def batch(self, priorities: Sequence[int], *columns: Any) -> Any:
        """Returns the argument that enqueues several elements with priorities, if it has any."""
        return (np.array(priorities, np.int64), *columns) if self.is_priority else columns

    def components(self, result: Any) -> Any:
        """Returns a dequeued result as a list of components without the priority."""
        result = result if isinstance(result, list) else [result]
        return result[1:] if self.is_priority else result

    def in_order(self, values: Sequence[Any]) -> list[Any]:
        """Sorts the results of a queue without an order."""
        return list(values) if self.has_order else sorted(values)

    @property
    def is_priority(self) -> bool:
        return self.name == "PriorityQueue"


def _priority(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


KINDS = [
    Kind("FIFOQueue"),
    Kind("RandomShuffleQueue", has_order=False),
    Kind("PaddingFIFOQueue"),
    Kind("PriorityQueue"),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(params=KINDS[:2], ids=lambda kind: kind.name)
def shapeless_kind(request: pytest.FixtureRequest) -> Kind:
    """A kind whose components may have any shape."""
    return request.param


class QueueSession:
    """A session whose runs end in time, with a view into its queues."""

    def __init__(self) -> None:
        self.session = tf.Session()
        self.calls: list[Call] = []

    def run(self, fetches: Any, feeds: Any = None, timeout: float = TIMEOUT) -> Any:
        options = tf.RunOptions(timeout_in_ms=int(timeout * 1000))
        return self.session.run(fetches, feeds, options=options)

    def call(self, function: Callable[[], Any]) -> Call:
        """Calls a function in a thread."""
        call = Call(function)
        self.calls.append(call)
        return call

    def start(self, queue: tf.QueueBase, fetches: Any, timeout: float = TIMEOUT) -> Call:
        """Starts a run in a thread, and returns once it has ended or waits for the queue."""
        before = self.num_waiting(queue)
        call = self.call(lambda: self.run(fetches, timeout=timeout))
        wait_until(lambda: self.num_waiting(queue) > before or not call.is_running)
        return call

    def blocked(self, queue: tf.QueueBase, fetches: Any) -> Call:
        """Starts a run in a thread, and checks that it waits for the queue."""
        call = self.start(queue, fetches)
        assert call.is_running, call.result()
        return call

    def stats(self, queue: tf.QueueBase) -> QueueStatistics:
        return self.session.queue_statistics(queue)

    def num_waiting(self, queue: tf.QueueBase) -> int:
        stats = self.stats(queue)
        return stats.num_waiting_enqueues + stats.num_waiting_dequeues

    def size(self, queue: tf.QueueBase) -> int:
        return int(self.run(queue.size()))

    def close(self) -> None:
        self.session.close()


@pytest.fixture
def sess() -> Iterator[QueueSession]:
    session = QueueSession()
    yield session
    session.close()
    for call in session.calls:
        wait_until(lambda call=call: not call.is_running)
