//! Waiting calls: how they are polled, cancelled, and waited for.

use super::waiter::{WaitQueue, Waiter};
use super::{Elements, Queue};
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::run::Run;
use headrace_engine::waits::{Awaited, Description};
use std::sync::Arc;

/// A call in one of a queue's wait queues. Dropping it cancels it, like [`Waiting::cancel`] does.
pub struct Waiting {
    queue: Arc<Queue>,
    wait_queue: WaitQueue,
    /// The number of elements that the call takes or adds.
    count: usize,
    waiter: Arc<Waiter>,
    is_over: bool,
}

/// The result of [`Waiting::leave`].
pub enum Left {
    /// The call had already been served.
    Served(Result<Elements>),
    /// The call had not been served. The elements that it had removed are back in the queue, and
    /// those that it had added stay. The number counts both.
    Unserved(usize),
}

/// A blocking call that ended before it was served.
pub struct Unfinished {
    /// The reason: it was ended, or the queue rejected it.
    pub error: Error,
    /// The number of elements that it had added, which stay, or had taken, which are back in the
    /// queue.
    pub num_moved: usize,
}

impl Waiting {
    pub(super) fn new(queue: Arc<Queue>, wait_queue: WaitQueue, count: usize, waiter: Arc<Waiter>) -> Self {
        Self { queue, wait_queue, count, waiter, is_over: false }
    }

    /// Returns the outcome once there is one. The parker of the request is unparked at that time.
    pub fn poll(&mut self) -> Option<Result<Elements>> {
        let outcome = self.waiter.take();
        self.is_over |= outcome.is_some();
        outcome
    }

    /// Cancels the call by TensorFlow's rules: elements that a dequeue had taken are lost, and
    /// elements that an enqueue had added stay.
    pub fn cancel(&mut self) -> Error {
        self.withdraw(false);
        self.wait_queue.cancelled()
    }

    /// Cancels the call without losing any element.
    pub fn leave(&mut self) -> Left {
        let num_moved = self.withdraw(true);
        // If it was served before the queue was locked here, its outcome is set by now.
        self.waiter.take().map_or(Left::Unserved(num_moved), Left::Served)
    }

    /// Blocks until the call is served. If `run` ends first, no element is lost.
    ///
    /// The parker of the request must be the parker of `run`.
    pub fn wait(mut self, run: &Run) -> std::result::Result<Elements, Unfinished> {
        loop {
            if let Some(outcome) = self.poll() {
                return outcome.map_err(Unfinished::refused);
            }
            if let Err(error) = run.wait_for(&|| vec![Awaited { op: None, what: Some(self.description()) }]) {
                return self.end(error);
            }
        }
    }

    /// Describes the call's wait.
    pub fn description(&self) -> Description {
        let (queue, waiter) = (Arc::clone(&self.queue), Arc::clone(&self.waiter));
        let (wait_queue, count) = (self.wait_queue, self.count);
        Arc::new(move || queue.describe_wait(wait_queue, &waiter, count))
    }

    /// Ends the call with `error`, without losing any element.
    pub fn end(mut self, error: Error) -> std::result::Result<Elements, Unfinished> {
        let num_moved = match (self.leave(), self.wait_queue) {
            // It was served just in time.
            (Left::Served(outcome), _) if error.code() == Code::DeadlineExceeded => {
                return outcome.map_err(Unfinished::refused);
            }
            (Left::Served(Ok(elements)), WaitQueue::Dequeue) => {
                let num_moved = elements.len();
                self.queue.give_back(elements);
                num_moved
            }
            (Left::Served(Ok(_)), WaitQueue::Enqueue) => self.count,
            (Left::Served(Err(_)), _) => 0,
            (Left::Unserved(num_moved), _) => num_moved,
        };
        Err(Unfinished { error, num_moved })
    }

    fn withdraw(&mut self, is_lossless: bool) -> usize {
        if std::mem::replace(&mut self.is_over, true) {
            return 0;
        }
        self.queue.change(|core| core.withdraw(self.wait_queue, &self.waiter, is_lossless))
    }
}

impl Unfinished {
    fn refused(error: Error) -> Self {
        Self { error, num_moved: 0 }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.withdraw(false);
    }
}
