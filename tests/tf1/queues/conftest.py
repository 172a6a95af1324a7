"""Helpers for tests of queues without a graph, with the same interface for all kinds.

Blocking calls run in threads, and tests continue as soon as the queue reports that they wait.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.calls import Call, wait_until

from headrace.tf1 import queues


@dataclass(frozen=True)
class Kind:
    """A kind of queue of integers.

    A priority queue uses each integer as its priority, so all queues except shuffling ones return
    ascending numbers in the order of insertion.
    """

    name: str
    has_order: bool = True

    def make(self, capacity: int = 10, name: str = "numbers") -> queues.Queue:
        if self.name == "RandomShuffleQueue":
            return queues.RandomShuffleQueue(capacity, 0, "int64", shapes=(), name=name)
        return getattr(queues, self.name)(capacity, "int64", shapes=(), name=name)

    def element(self, number: int) -> Any:
        return (number, number) if self.is_priority else number

    def rows(self, numbers: Sequence[int]) -> Any:
        column = np.asarray(numbers, np.int64)
        return (column, column) if self.is_priority else column

    def numbers(self, taken: Any) -> list[int]:
        """Returns the numbers of a dequeued result, sorted if the queue has no order."""
        result = np.atleast_1d(taken[1] if self.is_priority else taken).tolist()
        return result if self.has_order else sorted(result)

    @property
    def is_priority(self) -> bool:
        return self.name == "PriorityQueue"


KINDS = [
    Kind("FIFOQueue"),
    Kind("RandomShuffleQueue", has_order=False),
    Kind("PaddingFIFOQueue"),
    Kind("PriorityQueue"),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


Blocked = Callable[[queues.Queue, Callable[[], Any]], Call]


@pytest.fixture
def blocked() -> Iterator[Blocked]:
    """Starts a call of a queue in a thread, and returns it once it waits for the queue."""
    used: list[queues.Queue] = []

    def start(queue: queues.Queue, function: Callable[[], Any]) -> Call:
        used.append(queue)
        before = num_waiting(queue)
        call = Call(function)
        wait_until(lambda: num_waiting(queue) > before or not call.is_running)
        assert call.is_running, f"the call did not block: {call.result()}"
        return call

    yield start
    for queue in used:
        queue.close(cancel_pending_enqueues=True)


def num_waiting(queue: queues.Queue) -> int:
    stats = queue.stats
    return stats.num_waiting_enqueues + stats.num_waiting_dequeues
