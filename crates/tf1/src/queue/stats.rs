//! The statistics of a queue.

/// The state of a queue at one moment. Totals count from the creation of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// The number of elements in the queue. Near `capacity`, producers are waiting; near 0,
    /// consumers are. It may exceed `capacity` after elements were put back.
    pub size: usize,
    /// `None` if the queue is unbounded.
    pub capacity: Option<usize>,
    /// True once the queue is closed.
    pub is_closed: bool,
    /// The number of enqueued elements.
    pub num_enqueued: u64,
    /// The number of elements removed by dequeues, whether or not these have finished.
    pub num_dequeued: u64,
    /// The number of waiting enqueues, including closes that do not cancel.
    pub num_waiting_enqueues: usize,
    /// The number of waiting dequeues.
    pub num_waiting_dequeues: usize,
    /// The time that enqueues have waited so far, summed over threads. It grows if consumers are
    /// the bottleneck.
    pub enqueue_blocked_ns: u64,
    /// The time that dequeues have waited so far, summed over threads. It grows if producers are
    /// the bottleneck.
    pub dequeue_blocked_ns: u64,
}
