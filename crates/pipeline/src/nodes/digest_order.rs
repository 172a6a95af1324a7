//! Adds rows to the digest of the global order.

use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use crate::order_digest::OrderDigest;
use headrace_engine::error::Result;
use std::sync::Arc;

/// Passes its input through. Its checkpoints store the number of earlier rows or batches.
pub struct DigestOrder {
    input: Box<dyn Node>,
    /// `None` while earlier rows are being computed again.
    digest: Option<Arc<OrderDigest>>,
    pass: u64,
    /// The number of rows or batches in the pass before the next one.
    position: u64,
}

impl DigestOrder {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: true,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: false,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::OfOutput,
    };

    /// Wraps `input`, which starts at this position of a pass.
    pub fn new(input: Box<dyn Node>, digest: Option<Arc<OrderDigest>>, pass: u64, position: u64) -> Self {
        Self { input, digest, pass, position }
    }
}

impl Node for DigestOrder {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        match self.input.pull(context)? {
            Poll::Ready(rows) => {
                if let Some(digest) = &self.digest {
                    digest.push(self.pass, self.position, &rows, context.budget);
                }
                let checkpoint = Checkpoint::new([self.position], [rows.checkpoint(0)]);
                self.position += if rows.group().is_some() { 1 } else { rows.len() as u64 };
                Ok(Poll::Ready(rows.with_checkpoint(checkpoint)))
            }
            Poll::End => {
                if let Some(digest) = &self.digest {
                    digest.end(self.pass, self.position);
                }
                Ok(Poll::End)
            }
            poll => Ok(poll),
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }
}
