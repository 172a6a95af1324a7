"""Queues for use without a graph: a `queue.Queue` for arrays, on the native queues of the graph.

`FIFOQueue`, `RandomShuffleQueue`, `PaddingFIFOQueue` and `PriorityQueue` differ in the order in
which elements come out. Threads that fill and drain one need nothing else; see `Queue` for the
calls.
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
