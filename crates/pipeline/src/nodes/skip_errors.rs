//! The `skip_errors` stage, which counts the rows that pass through it.

use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use crate::skip_event::{PassProgress, SkipEvent};
use headrace_engine::error::Result;

/// Passes its input through. Adds the number of earlier rows to each skip event, and reports the
/// total at the end.
pub struct SkipErrors {
    input: Box<dyn Node>,
    /// The number of the `skip_errors` stage.
    stage: usize,
    passed: PassProgress,
    is_over: bool,
}

impl SkipErrors {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: true,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: true,
        is_cache: false,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::OfOutput,
    };

    /// Wraps `input`. `passed` rows were returned before its first row.
    pub fn new(input: Box<dyn Node>, stage: usize, passed: PassProgress) -> Self {
        Self { input, stage, passed, is_over: false }
    }
}

impl Node for SkipErrors {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if self.is_over {
            return Ok(Poll::End);
        }
        Ok(match self.input.pull(context)? {
            Poll::Ready(rows) => {
                let checkpoint = Checkpoint::new([self.passed.count], [rows.checkpoint(0)]);
                self.passed.count += rows.len() as u64;
                Poll::Ready(rows.with_checkpoint(checkpoint))
            }
            Poll::SkipEvent(SkipEvent::Skipped(mut skipped)) if skipped.skipper == self.stage => {
                skipped.passed = self.passed;
                Poll::SkipEvent(SkipEvent::Skipped(skipped))
            }
            Poll::End => {
                self.is_over = true;
                Poll::SkipEvent(SkipEvent::PassEnd { skipper: self.stage, rows: self.passed })
            }
            other => other,
        })
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }
}
