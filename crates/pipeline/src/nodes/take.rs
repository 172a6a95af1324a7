//! Selects rows by position: `take`, `skip` and shares of batches.

use crate::blocks::rows::Rows;
use crate::budget::Budget;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Ended, Node, Poll};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use headrace_engine::error::Result;
use std::sync::Arc;

/// The first rows.
pub struct Take {
    input: Box<dyn Node>,
    num_returned: u64,
    rest: u64,
}

impl Take {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: false,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: false,
        may_end_early: true,
        shards: RowShards::None,
        batches: BatchesOfInput::None,
    };

    /// Returns the first `count` rows, including `num_returned` rows before the rows of `input`.
    pub fn new(input: Box<dyn Node>, count: u64, num_returned: u64) -> Self {
        Self { input, num_returned, rest: count.saturating_sub(num_returned) }
    }
}

impl Node for Take {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if self.rest == 0 {
            return Ok(Poll::End);
        }
        let poll = self.input.pull(context)?;
        let Poll::Ready(mut rows) = poll else { return Ok(poll) };
        let rows = rows.take_front(usize::try_from(self.rest).unwrap_or(usize::MAX));
        let checkpoint = Checkpoint::new([self.num_returned], [rows.checkpoint(0)]);
        self.num_returned += rows.len() as u64;
        self.rest -= rows.len() as u64;
        Ok(Poll::Ready(rows.with_checkpoint(checkpoint)))
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }
}

/// Skips the first rows.
pub struct Skip {
    input: SkipFirst,
    /// The number of rows to skip at the beginning.
    count: u64,
    /// True if rows were returned before a resume.
    is_resumed: bool,
}

impl Skip {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: false,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: false,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::None,
    };

    /// Skips the next `rest` rows of `input`, out of `count` rows that are skipped at the
    /// beginning.
    pub fn new(input: Box<dyn Node>, count: u64, rest: u64) -> Self {
        Self { input: SkipFirst::new(input, rest), count, is_resumed: rest == 0 || rest > count }
    }
}

impl Node for Skip {
    /// The checkpoints get their own state even though the input's would suffice. A checkpoint
    /// without a state means the beginning, where rows are skipped, and some inputs count rows from
    /// there.
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        Ok(match self.input.pull(context)? {
            Poll::Ready(rows) => {
                let checkpoint = Checkpoint::new([self.count], [rows.checkpoint(0)]);
                Poll::Ready(rows.with_checkpoint(checkpoint))
            }
            poll => poll,
        })
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        // The first rows are skipped once a row is requested.
        if self.is_resumed { self.input.replay_skipped(context) } else { Ok(true) }
    }
}

/// Skips the first rows of a resumed node but keeps its checkpoints. A group of rows counts as one,
/// as in the node's checkpoints.
pub struct SkipFirst {
    input: Box<dyn Node>,
    rest: u64,
    /// Rows that arrived together with skipped ones and have not been returned yet.
    ready: Rows,
    has_ended: bool,
}

impl SkipFirst {
    /// Skips the first `count` rows of `input`.
    pub fn new(input: Box<dyn Node>, count: u64) -> Self {
        Self { input, rest: count, ready: Rows::new(), has_ended: false }
    }

    /// Drops the rows at the front that have to be skipped.
    fn skip_front(&mut self, rows: &mut Rows) {
        if self.rest > 0 && rows.group().is_some() {
            self.rest -= 1;
            *rows = Rows::new();
            return;
        }
        let skipped = rows.take_front(usize::try_from(self.rest).unwrap_or(usize::MAX));
        self.rest -= skipped.len() as u64;
    }
}

impl Node for SkipFirst {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if !self.ready.is_empty() {
            return Ok(Poll::Ready(std::mem::take(&mut self.ready)));
        }
        if self.has_ended {
            return Ok(Poll::End);
        }
        loop {
            let poll = self.input.pull(context)?;
            let Poll::Ready(mut rows) = poll else { return Ok(poll) };
            self.skip_front(&mut rows);
            if !rows.is_empty() {
                return Ok(Poll::Ready(rows));
            }
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        if !self.input.replay_skipped(context)? {
            return Ok(false);
        }
        while self.rest > 0 && !self.has_ended {
            match self.input.pull(context)? {
                Poll::Ready(mut rows) => {
                    self.skip_front(&mut rows);
                    self.ready = rows;
                }
                // It was returned before the checkpoint.
                Poll::SkipEvent(_) => {}
                Poll::Pending => return Ok(false),
                Poll::End => self.has_ended = true,
            }
        }
        Ok(true)
    }

    fn ended(&self) -> Option<Ended> {
        self.input.ended()
    }
}

/// Skips the first `skip` rows of a node.
pub fn skip_first(node: Box<dyn Node>, skip: u64) -> Box<dyn Node> {
    if skip == 0 { node } else { Box::new(SkipFirst::new(node, skip)) }
}

/// Copies the rows if they are a small part of their blocks, so that the other rows can be freed.
pub(super) fn few(rows: Rows, budget: &Arc<Budget>) -> Result<Rows> {
    if !rows.are_few() {
        return Ok(rows);
    }
    let copy = rows.copy()?;
    let charge = budget.charge(copy.held_bytes());
    Ok(Rows::all(copy.charged(charge)))
}

/// Keeps every `count`-th run of `run` rows. These are the rows of every `count`-th batch, selected
/// before the batches are built.
pub struct Share {
    input: Box<dyn Node>,
    index: u64,
    count: u64,
    run: u64,
    /// How many rows of the current `count` runs have arrived.
    position: u64,
    /// The checkpoint of the first of these rows.
    group: Checkpoint,
}

impl Share {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: false,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: false,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::None,
    };

    /// Returns run `index` of each group of `count` runs.
    pub fn new(input: Box<dyn Node>, index: u64, count: u64, run: u64) -> Self {
        Self { input, index, count, run, position: 0, group: Checkpoint::default() }
    }
}

impl Node for Share {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            let poll = self.input.pull(context)?;
            let Poll::Ready(rows) = poll else { return Ok(poll) };
            let (mut taken, mut checkpoint) = (Rows::new(), None);
            for (number, (block, row)) in rows.iter().enumerate() {
                if self.position == 0 {
                    self.group = rows.checkpoint(number);
                }
                if self.position / self.run == self.index {
                    // All `count` shares return the same number of rows, so the skipped rows are
                    // counted separately.
                    let behind = self.position % self.run;
                    checkpoint
                        .get_or_insert_with(|| Checkpoint::new([self.count], [self.group.clone()]).advanced_by(behind));
                    taken.push(block, row, 1);
                }
                self.position = (self.position + 1) % (self.run * self.count);
            }
            if let Some(checkpoint) = checkpoint {
                return Ok(Poll::Ready(few(taken, context.budget)?.with_checkpoint(checkpoint)));
            }
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }
}
