//! The requests of a queue's callers, and their progress.

use super::Elements;
use super::rows::Rows;
use super::waiter::WaitQueue;
use headrace_engine::error::Error;

/// The maximum number of elements for which a dequeue reserves memory at first.
const MAX_RESERVED: usize = 4096;

/// A close that does not cancel. It waits for the enqueues before it.
pub(super) struct Close;

/// A caller's request to the queue, and its progress.
pub(super) enum Request {
    Enqueue(Rows),
    Close(Close),
    Dequeue { missing: usize, is_up_to: bool, collected: Elements },
}

impl Request {
    #[expect(clippy::disallowed_methods, reason = "at most MAX_RESERVED")]
    pub(super) fn dequeue(count: usize, is_up_to: bool) -> Self {
        Self::Dequeue { missing: count, is_up_to, collected: Elements::with_capacity(count.min(MAX_RESERVED)) }
    }

    /// The number of elements that still have to be moved.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Enqueue(rows) => rows.len(),
            Self::Close(Close) => 0,
            Self::Dequeue { missing, .. } => *missing,
        }
    }

    /// The error of an enqueue or plain close that was ended by a cancelling close.
    pub(super) fn cancelled(&self) -> Error {
        let error = WaitQueue::Enqueue.cancelled();
        match self {
            Self::Enqueue(rows) if rows.num_popped() > 0 => {
                let all = rows.num_popped() + rows.len();
                error.with_remedy(&format!("It had added {} of {all} elements, which stay", rows.num_popped()))
            }
            _ => error,
        }
    }
}
