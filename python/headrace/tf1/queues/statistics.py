"""Statistics of a queue."""

from dataclasses import dataclass

__all__ = ["QueueStatistics"]


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """A snapshot of a queue's statistics. Totals are counted from the creation of the queue.

    To find out which side of the queue is slower, compare two snapshots taken a few seconds apart.
    The slower side is the one whose `..._blocked_seconds` barely grow, because the other side waits
    for it.
    """

    size: int
    """The number of elements in the queue. If it is always near `capacity`, consumers are too slow.
    If it is always near 0, producers are too slow. It can exceed `capacity` for a while after a
    dequeue has put elements back."""

    capacity: int | None
    """The maximum number of elements. None for no limit."""

    is_closed: bool
    """True if nothing more can be enqueued. False while a close waits for enqueues."""

    num_enqueued: int
    """The number of elements enqueued so far. Its growth per second is the rate of the
    producers."""

    num_dequeued: int
    """The number of elements dequeued so far, including those held by a dequeue that waits for
    more. Its growth per second is the rate of the consumers."""

    num_waiting_enqueues: int
    """The number of calls that are blocked because the queue is full, including a close that waits
    for them. If it is above 0 most of the time, consumers are too slow."""

    num_waiting_dequeues: int
    """The number of calls that are blocked because the queue has too few elements. If it is above 0
    most of the time, producers are too slow."""

    enqueue_blocked_seconds: float
    """The time in seconds for which enqueues have been blocked so far, summed over threads. If it
    grows by one second per second for each producer, all producers wait all the time, so consumers
    are too slow."""

    dequeue_blocked_seconds: float
    """The time in seconds for which dequeues have been blocked so far, summed over threads. If it
    grows by one second per second for each consumer, all consumers wait all the time, so producers
    are too slow."""
