//! Counts the rows that a stage returns.

use crate::node::{Context, Ended, Node, Poll};
use headrace_engine::error::Result;

/// Passes its input through and counts the rows.
pub struct CountRows {
    input: Box<dyn Node>,
    stage: usize,
}

impl CountRows {
    /// Counts the rows of `input` for stage `stage`.
    pub fn new(input: Box<dyn Node>, stage: usize) -> Self {
        Self { input, stage }
    }
}

impl Node for CountRows {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        let poll = self.input.pull(context)?;
        if let (Poll::Ready(rows), Some(meter)) = (&poll, context.meters.stage(self.stage)) {
            meter.count(rows.len(), 0);
        }
        Ok(poll)
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }

    fn ended(&self) -> Option<Ended> {
        self.input.ended()
    }
}
