//! The statistics of a queue.

/// The state of a queue at one moment. Totals since the queue was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Elements in the queue now. Near `capacity`: producers wait; near 0: consumers do. More than
    /// `capacity` after elements were put back.
    pub size: usize,
    /// `None`: unbounded.
    pub capacity: Option<usize>,
    /// True once the queue is closed.
    pub is_closed: bool,
    /// Enqueued elements.
    pub num_enqueued: u64,
    /// Elements removed by a dequeue, finished or not.
    pub num_dequeued: u64,
    /// Enqueues that wait now, and closes that do not cancel.
    pub num_waiting_enqueues: usize,
    /// Dequeues that wait now.
    pub num_waiting_dequeues: usize,
    /// Time that enqueues have waited until now, summed over threads. Grows when consumers are the
    /// bottleneck.
    pub enqueue_blocked_ns: u64,
    /// Time that dequeues have waited until now, summed over threads. Grows when producers are the
    /// bottleneck.
    pub dequeue_blocked_ns: u64,
}
