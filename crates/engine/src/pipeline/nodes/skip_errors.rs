//! Where what failed before is left out: counts what comes through.

use crate::error::Result;
use crate::pipeline::mark::Mark;
use crate::pipeline::node::{Context, Node, Poll};
use crate::pipeline::skipped::{Note, PassedRows};

/// Gives what its input gives; says of what was left out how many rows came before it, and at the end how many came.
pub struct SkipErrors {
    input: Box<dyn Node>,
    /// The number of its stage.
    stage: usize,
    passed: PassedRows,
    is_over: bool,
}

impl SkipErrors {
    /// `passed` rows came through before those of `input`.
    pub fn new(input: Box<dyn Node>, stage: usize, passed: PassedRows) -> Self {
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
                let mark = Mark::new([self.passed.count], [rows.mark(0)]);
                self.passed.count += rows.len() as u64;
                Poll::Ready(rows.marked(mark))
            }
            Poll::Note(Note::Skipped(mut skipped)) if skipped.skipper == self.stage => {
                skipped.passed = self.passed;
                Poll::Note(Note::Skipped(skipped))
            }
            Poll::End => {
                self.is_over = true;
                Poll::Note(Note::Passed { skipper: self.stage, rows: self.passed })
            }
            other => other,
        })
    }
}
