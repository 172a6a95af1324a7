//! Rows that a thread of Python's makes.

use crate::error::{Error, Result};
use crate::pipeline::block::Rows;
use crate::pipeline::node::{Context, Node, Poll};
use crate::pipeline::task::{HostTask, Outcome, Ring};

/// Blocks that are asked for before they are wanted.
const AHEAD: usize = 4;

/// Asks a lane for one block after the other, until it gives one without rows.
pub struct Hosted {
    lane: usize,
    pass: u64,
    stage: usize,
    ring: Ring<Outcome>,
    is_over: bool,
    error: Option<Error>,
}

impl Hosted {
    /// The rows of pass number `pass`, for stage number `stage`.
    pub fn new(lane: usize, pass: u64, stage: usize) -> Self {
        Self { lane, pass, stage, ring: Ring::new(), is_over: false, error: None }
    }
}

impl Node for Hosted {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        while !self.is_over && self.error.is_none() && self.ring.len() < AHEAD {
            let Some(_room) = context.charge(0, self.ring.is_empty()) else { break };
            let slot = self.ring.start();
            context
                .start_hosted(self.lane, HostTask { rows: Rows::new(), pass: self.pass, stage: self.stage, slot })?;
        }
        while self.error.is_none()
            && let Some(outcome) = self.ring.pop()
        {
            let Outcome { rows, error } = outcome?;
            self.is_over |= rows.is_empty();
            self.error = error;
            if !rows.is_empty() {
                return Ok(Poll::Ready(rows));
            }
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        Ok(if self.ring.is_empty() { Poll::End } else { Poll::Pending })
    }
}
