//! Receives the outcome of a waiting call.

use super::Elements;
use headrace_engine::error::{Error, Result};
use headrace_engine::sync::Mutex;
use headrace_engine::sync::parker::Parker;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// One of a queue's two wait queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitQueue {
    Enqueue,
    Dequeue,
}

impl WaitQueue {
    pub(super) fn cancelled(self) -> Error {
        Error::cancelled(match self {
            WaitQueue::Enqueue => "Enqueue operation was cancelled",
            WaitQueue::Dequeue => "Dequeue operation was cancelled",
        })
    }
}

pub(super) struct Waiter {
    /// Set once by the thread that serves the wait queue, and read once by the owner.
    outcome: Mutex<Option<Result<Elements>>>,
    parker: Arc<Parker>,
    since: Instant,
}

impl Waiter {
    pub(super) fn new(parker: &Arc<Parker>) -> Arc<Self> {
        Arc::new(Self { outcome: Mutex::new(None), parker: Arc::clone(parker), since: Instant::now() })
    }

    pub(super) fn take(&self) -> Option<Result<Elements>> {
        self.outcome.lock().take()
    }

    /// How long its owner has waited.
    pub(super) fn blocked_ns(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Sets the outcome. The owner is woken later, when the queue's lock is released.
    pub(super) fn put(&self, outcome: Result<Elements>) {
        *self.outcome.lock() = Some(outcome);
    }
}

/// The waiters that were served while the queue was locked. They are woken afterwards.
#[derive(Default)]
pub(super) struct Woken(VecDeque<Arc<Parker>>);

impl Woken {
    pub(super) fn push(&mut self, waiter: &Waiter) {
        self.0.push_back(Arc::clone(&waiter.parker));
    }

    pub(super) fn wake(self) {
        Parker::unpark_all(self.0);
    }
}
