//! Rows that a thread of Python's makes.

use crate::error::{Error, Result};
use crate::pipeline::block::{FileOrigin, Origins, Rows};
use crate::pipeline::node::{Context, Node, Poll, Position};
use crate::pipeline::task::{HostTask, Outcome, Ring};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks that are asked for before they are wanted.
const AHEAD: usize = 4;

/// Asks a lane for one block after the other, until it gives one without rows.
pub struct Hosted {
    lane: usize,
    stage: usize,
    /// Another one for each node, so that the lane knows when a pass begins anew.
    start: u64,
    origin: Arc<FileOrigin>,
    /// How many rows came so far.
    num_rows: u64,
    ring: Ring<Outcome>,
    is_over: bool,
    error: Option<Error>,
}

impl Hosted {
    /// The rows of a pass.
    pub fn new(lane: usize, position: Position) -> Self {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let origin = FileOrigin::unnamed("example", position.pass);
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        let (stage, ring) = (position.stage, Ring::new());
        Self { lane, stage, start, origin, num_rows: 0, ring, is_over: false, error: None }
    }
}

impl Node for Hosted {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        while !self.is_over && self.error.is_none() && self.ring.len() < AHEAD {
            let Some(_room) = context.charge(0, self.ring.is_empty()) else { break };
            let slot = self.ring.start();
            let task = HostTask { rows: Rows::new(), pass: self.start, stage: self.stage, slot };
            context.start_hosted(self.lane, task)?;
        }
        while self.error.is_none()
            && let Some(outcome) = self.ring.pop()
        {
            let Outcome { rows, error } = outcome?;
            self.is_over |= rows.is_empty();
            self.error = error;
            if !rows.is_empty() {
                let origins = Origins::Run(Arc::clone(&self.origin), self.num_rows);
                self.num_rows += rows.len() as u64;
                return rows.with_origins(origins).map(Poll::Ready);
            }
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        Ok(if self.ring.is_empty() { Poll::End } else { Poll::Pending })
    }
}
