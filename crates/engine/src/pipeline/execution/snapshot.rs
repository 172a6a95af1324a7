//! What a running pipeline does at one moment, for somebody who wants to know why nothing comes.

use crate::pipeline::execution::meters::{NO_STAGE, stage_of_this_thread};
use crate::waits::this_thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The state of an executor.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What each worker does.
    pub workers: Vec<Worker>,
    /// Tasks that no worker has begun.
    pub num_tasks: usize,
    /// The same, for each Python worker.
    pub num_python: Vec<usize>,
    /// Blocks that wait for the consumer.
    pub num_ready: usize,
    /// How many of them may.
    pub max_ready: usize,
    /// Whether the consumer waits for rows.
    pub is_consumer_waiting: bool,
    /// Whether something did not fit into the budget when the nodes were asked last.
    pub is_refused: bool,
    /// Whether some thread asks the nodes.
    pub is_asked: bool,
    /// Whether the nodes have ended.
    pub is_over: bool,
    /// Whether the pipeline was closed.
    pub is_closed: bool,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It waits to be called.
    Nothing,
    /// It asks the nodes what is to be done.
    Asking,
    /// It works on a task.
    Task,
    /// Its thread ends.
    Ended,
}

/// One worker. Its thread changes it under the executor's lock.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its thread, as the system numbers it; 0 where it does not say.
    pub thread: u64,
    /// What it does.
    pub doing: Doing,
    /// Since when.
    pub since: Instant,
    stage: Arc<AtomicUsize>,
}

impl Worker {
    /// The calling thread, which has done nothing yet.
    pub fn of_this_thread() -> Self {
        let stage = stage_of_this_thread();
        Self { thread: this_thread(), doing: Doing::Nothing, since: Instant::now(), stage }
    }

    /// The thread does something else from now on.
    pub fn begin(&mut self, doing: Doing) {
        (self.doing, self.since) = (doing, Instant::now());
        self.stage.store(NO_STAGE, Ordering::Relaxed);
    }

    /// The stage of its task, once that has begun with one.
    pub fn stage(&self) -> Option<usize> {
        let stage = self.stage.load(Ordering::Relaxed);
        (stage != NO_STAGE).then_some(stage)
    }
}
