"""Queues of arrays for use without a graph: like `queue.Queue`, but on native queues.

`FIFOQueue`, `RandomShuffleQueue`, `PaddingFIFOQueue` and `PriorityQueue` differ in the order of
their elements. Threads can fill and drain them without a graph or a session. See `Queue` for the
methods.
"""

from headrace.tf1.queues.kinds import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue
from headrace.tf1.queues.queue import Queue
from headrace.tf1.queues.statistics import QueueStatistics

__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "Queue",
    "QueueStatistics",
    "RandomShuffleQueue",
]
