//! A place in a line: where the outcome is put for the thread that waits for it.

use super::Elements;
use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::sync::parker::Parker;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Which line of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Enqueue,
    Dequeue,
}

impl Line {
    pub(super) fn cancelled(self) -> Error {
        Error::cancelled(match self {
            Line::Enqueue => "Enqueue operation was cancelled",
            Line::Dequeue => "Dequeue operation was cancelled",
        })
    }
}

pub(super) struct Ticket {
    /// Put once by whoever serves the line, taken once by the owner.
    outcome: Mutex<Option<Result<Elements>>>,
    parker: Arc<Parker>,
    since: Instant,
}

impl Ticket {
    pub(super) fn new(parker: &Arc<Parker>) -> Arc<Self> {
        Arc::new(Self { outcome: Mutex::new(None), parker: Arc::clone(parker), since: Instant::now() })
    }

    pub(super) fn take(&self) -> Option<Result<Elements>> {
        self.outcome.lock().take()
    }

    /// For how long its owner has waited.
    pub(super) fn blocked_ns(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Puts the outcome. The owner is not woken yet: that is for after the queue's lock is released.
    pub(super) fn put(&self, outcome: Result<Elements>) {
        *self.outcome.lock() = Some(outcome);
    }
}

/// The owners of tickets whose outcome was put while the queue was locked, to be woken after.
#[derive(Default)]
pub(super) struct Woken(VecDeque<Arc<Parker>>);

impl Woken {
    pub(super) fn push(&mut self, ticket: &Ticket) {
        self.0.push_back(Arc::clone(&ticket.parker));
    }

    pub(super) fn wake(self) {
        Parker::unpark_all(self.0);
    }
}
