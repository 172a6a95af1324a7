"""Statistics of a queue."""

from dataclasses import dataclass

__all__ = ["QueueStatistics"]


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """A snapshot of a queue. Totals count from when the queue was made.

    Two snapshots, some seconds apart, show which side of the queue is slower: the side whose
    `..._blocked_seconds` hardly grow, since the other side waits for it.
    """

    size: int
    """Elements in the queue now. Always near `capacity`: consumers are too slow; always near 0:
    producers are. More than `capacity` for a while after a dequeue has put elements back."""

    capacity: int | None
    """Elements that fit; None for any number."""

    is_closed: bool
    """Whether nothing can be enqueued any more. False while a close waits for enqueues."""

    num_enqueued: int
    """Elements enqueued so far. Its growth per second is the rate of the producers."""

    num_dequeued: int
    """Elements dequeued so far, those of a dequeue that waits for more included. Its growth per
    second is the rate of the consumers."""

    num_waiting_enqueues: int
    """Calls that are blocked now since the queue is full; a close that waits for them counts too.
    More than 0 most of the time: consumers are too slow."""

    num_waiting_dequeues: int
    """Calls that are blocked now since the queue has too few elements. More than 0 most of the
    time: producers are too slow."""

    enqueue_blocked_seconds: float
    """Seconds that enqueues have been blocked until now, summed over threads. Growing by one a
    second for each producer: all of them wait all the time, so consumers are too slow."""

    dequeue_blocked_seconds: float
    """Seconds that dequeues have been blocked until now, summed over threads. Growing by one a
    second for each consumer: all of them wait all the time, so producers are too slow."""
