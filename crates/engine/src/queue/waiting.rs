//! Calls that wait in a line: looking, leaving, and blocking until they are served.

use super::ticket::{Line, Ticket};
use super::{Elements, Queue};
use crate::error::{Code, Error, Result};
use crate::run::Run;
use std::sync::Arc;

/// A place in one of a queue's lines. Dropping it gives the place up, as [`Waiting::cancel`] does.
pub struct Waiting {
    queue: Arc<Queue>,
    line: Line,
    /// How many elements the call is about.
    count: usize,
    ticket: Arc<Ticket>,
    is_over: bool,
}

/// What [`Waiting::leave`] came to.
pub enum Left {
    /// The call had been served before.
    Served(Result<Elements>),
    /// It had not. What it had taken is back in the queue, what it had added stays; how many elements that were.
    Unserved(usize),
}

/// A blocking call that was ended before it was served.
pub struct Unfinished {
    /// Why it was ended; or why the queue refused it.
    pub error: Error,
    /// Elements that it had added, and that stay, or had taken, and that are back in the queue.
    pub num_moved: usize,
}

impl Waiting {
    pub(super) fn new(queue: Arc<Queue>, line: Line, count: usize, ticket: Arc<Ticket>) -> Self {
        Self { queue, line, count, ticket, is_over: false }
    }

    /// The outcome, once there is one. The parker given with the request is unparked then.
    pub fn poll(&mut self) -> Option<Result<Elements>> {
        let outcome = self.ticket.take();
        self.is_over |= outcome.is_some();
        outcome
    }

    /// Leaves the line by TensorFlow's rule: elements a dequeue had taken are lost, elements an enqueue had added stay.
    pub fn cancel(&mut self) -> Error {
        self.withdraw(false);
        self.line.cancelled()
    }

    /// Leaves the line so that nothing is lost.
    pub fn leave(&mut self) -> Left {
        let num_moved = self.withdraw(true);
        // Served before the queue was locked for leaving: the outcome has been put by then.
        self.ticket.take().map_or(Left::Unserved(num_moved), Left::Served)
    }

    /// Blocks until the call is served. If `run` is to end before that, nothing is lost.
    ///
    /// The parker given with the request must be that of `run`.
    pub fn wait(mut self, run: &Run) -> std::result::Result<Elements, Unfinished> {
        loop {
            if let Some(outcome) = self.poll() {
                return outcome.map_err(Unfinished::refused);
            }
            if let Err(error) = run.wait() {
                return self.end(error);
            }
        }
    }

    /// Ends the wait with `error`, so that nothing is lost.
    pub fn end(mut self, error: Error) -> std::result::Result<Elements, Unfinished> {
        let num_moved = match (self.leave(), self.line) {
            // It was served in the last moment.
            (Left::Served(outcome), _) if error.code() == Code::DeadlineExceeded => {
                return outcome.map_err(Unfinished::refused);
            }
            (Left::Served(Ok(elements)), Line::Dequeue) => {
                let num_moved = elements.len();
                self.queue.give_back(elements);
                num_moved
            }
            (Left::Served(Ok(_)), Line::Enqueue) => self.count,
            (Left::Served(Err(_)), _) => 0,
            (Left::Unserved(num_moved), _) => num_moved,
        };
        Err(Unfinished { error, num_moved })
    }

    fn withdraw(&mut self, is_lossless: bool) -> usize {
        if std::mem::replace(&mut self.is_over, true) {
            return 0;
        }
        self.queue.change(|core| core.withdraw(self.line, &self.ticket, is_lossless))
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
