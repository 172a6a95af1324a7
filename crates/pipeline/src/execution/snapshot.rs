//! The state of a running pipeline at one moment, to find out why no rows arrive.

use crate::tasks::meters::{NO_STAGE, stage_of_this_thread};
use headrace_engine::waits::this_thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The state of an executor.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The current work of each worker.
    pub workers: Vec<Worker>,
    /// Tasks not begun by a worker.
    pub num_tasks: usize,
    /// Tasks not begun, for each Python worker.
    pub num_python: Vec<usize>,
    /// Blocks that wait for the consumer.
    pub num_ready: usize,
    /// The largest number of blocks that may wait.
    pub max_ready: usize,
    /// True if the consumer waits for rows.
    pub is_consumer_waiting: bool,
    /// True if a charge did not fit into the budget when the nodes were polled last.
    pub is_refused: bool,
    /// True if a thread polls the nodes.
    pub is_asked: bool,
    /// True if the nodes have ended.
    pub is_over: bool,
    /// True if the pipeline was closed.
    pub is_closed: bool,
}

/// The current work of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It waits to be called.
    Nothing,
    /// It polls the nodes.
    Asking,
    /// It works on a task.
    Task,
    /// Its thread ends.
    Ended,
}

/// One worker. Its thread changes it under the executor's lock.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The number of its thread in the system; 0 where that is unknown.
    pub thread: u64,
    /// Its current work.
    pub activity: Activity,
    /// The time at which that began.
    pub since: Instant,
    stage: Arc<AtomicUsize>,
}

impl Worker {
    /// A worker for the calling thread, which has done nothing yet.
    pub fn of_this_thread() -> Self {
        let stage = stage_of_this_thread();
        Self { thread: this_thread(), activity: Activity::Nothing, since: Instant::now(), stage }
    }

    /// Sets the current work.
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
