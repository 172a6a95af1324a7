//! The state of a running pipeline at one moment, for finding out why no rows arrive.

use crate::tasks::meters::{NO_STAGE, stage_of_this_thread};
use headrace_engine::waits::this_thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The state of an executor.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The current activity of each worker.
    pub workers: Vec<Worker>,
    /// The number of tasks that no worker has begun.
    pub num_tasks: usize,
    /// For each Python worker, the number of tasks that have not begun.
    pub num_python: Vec<usize>,
    /// The number of blocks that are waiting for the consumer.
    pub num_ready: usize,
    /// The maximum number of blocks that may wait.
    pub max_ready: usize,
    /// True if the consumer is waiting for rows.
    pub is_consumer_waiting: bool,
    /// True if a charge did not fit into the budget when the nodes were last polled.
    pub is_refused: bool,
    /// True if a thread is polling the nodes.
    pub is_asked: bool,
    /// True if the nodes have ended.
    pub is_over: bool,
    /// True if the pipeline was closed.
    pub is_closed: bool,
}

/// The current activity of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Waiting to be called.
    Nothing,
    /// Polling the nodes.
    Asking,
    /// Running a task.
    Task,
    /// Its thread ends.
    Ended,
}

/// One worker. Its thread changes it while holding the executor's lock.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The system's number of its thread, or 0 if unknown.
    pub thread: u64,
    /// Its current work.
    pub activity: Activity,
    /// When that activity began.
    pub since: Instant,
    stage: Arc<AtomicUsize>,
}

impl Worker {
    /// Creates a worker for the calling thread, which has done nothing yet.
    pub fn of_this_thread() -> Self {
        let stage = stage_of_this_thread();
        Self { thread: this_thread(), activity: Activity::Nothing, since: Instant::now(), stage }
    }

    /// Sets the worker's current activity.
    pub fn begin(&mut self, activity: Activity) {
        (self.activity, self.since) = (activity, Instant::now());
        self.stage.store(NO_STAGE, Ordering::Relaxed);
    }

    /// The stage of its task, once the task has set one.
    pub fn stage(&self) -> Option<usize> {
        let stage = self.stage.load(Ordering::Relaxed);
        (stage != NO_STAGE).then_some(stage)
    }
}
