"""Queues, barriers and staging areas in a graph.

A queue object adds operations on one queue to the graph. The queue itself belongs to the session
that runs these operations.

Source: `tf.QueueBase` and its subclasses, `tf.contrib.staging`, `data_flow_ops.Barrier`, of
TensorFlow 1.15.
"""

from headrace.tf1.ops.queues.arguments import is_single_shape
from headrace.tf1.ops.queues.barrier import Barrier, TakenFromBarrier
from headrace.tf1.ops.queues.kinds import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    RandomShuffleQueue,
)
from headrace.tf1.ops.queues.queue import QueueBase
from headrace.tf1.ops.queues.staging import StagingArea

__all__ = [
    "Barrier",
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "StagingArea",
    "TakenFromBarrier",
    "is_single_shape",
]
