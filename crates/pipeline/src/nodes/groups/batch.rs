//! Groups rows into batches of one size.

use crate::blocks::block::{FileProvenance, Pass};
use crate::blocks::part_counts::RowAnnotations;
use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Ended, Node, Poll};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use headrace_engine::error::Result;
use std::sync::Arc;

/// Returns `size` rows at a time. The last group may be smaller.
pub struct Batch {
    input: Box<dyn Node>,
    size: usize,
    drops_remainder: bool,
    waiting: Rows,
    /// True once the end of the input was seen.
    is_over: bool,
    /// The provenance that counts the batches.
    file_provenance: Arc<FileProvenance>,
    /// The number of the first batch in the current round of all shares.
    next: u64,
    share: ShareIndex,
    /// The size of the batches that are skipped, and the number of rows of the input's checkpoint
    /// before them.
    skipped: (u64, u64),
    /// The facts that a batch keeps about its rows.
    annotations: RowAnnotations,
}

/// The batches of this share: number `index` of each `count` batches.
#[derive(Clone, Copy, Debug)]
pub struct ShareIndex {
    /// From 0.
    pub index: u64,
    /// 1 for all batches.
    pub count: u64,
}

impl ShareIndex {
    /// All batches.
    pub const ALL: Self = Self { index: 0, count: 1 };
}

impl Batch {
    /// The facts about the step for batches of this size.
    pub const fn facts(size: usize) -> StepFacts {
        StepFacts {
            is_one_to_one: false,
            is_row_wise: false,
            python_worker: None,
            keeps_pieces: false,
            is_cache: false,
            may_end_early: false,
            shards: RowShards::OfInput,
            batches: BatchesOfInput::Makes(size),
        }
    }

    /// With `drops_remainder` the last rows are dropped if they are fewer than `size`.
    pub fn new(input: Box<dyn Node>, size: usize, drops_remainder: bool, pass: Pass) -> Self {
        let file_provenance = FileProvenance::unnamed("batch", pass);
        let (waiting, share, skipped) = (Rows::new(), ShareIndex::ALL, (size as u64, 0));
        Self {
            input,
            size,
            drops_remainder,
            waiting,
            is_over: false,
            file_provenance,
            next: 0,
            share,
            skipped,
            annotations: RowAnnotations::default(),
        }
    }

    /// Sets the number `next` of the first of the `count` batches of all shares to which the first
    /// batch belongs.
    pub fn numbered_from(mut self, next: u64) -> Self {
        self.next = next;
        self
    }

    /// Skips batches of `size` rows, which begin `num_before` rows after the state of the input's
    /// checkpoint.
    pub fn with_skip(mut self, size: u64, num_before: u64) -> Self {
        self.skipped = (size.max(1), num_before);
        self
    }

    /// Sets the provenance that a batch keeps of its rows.
    pub fn with_annotations(mut self, annotations: RowAnnotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// Numbers the batches as one of several shares.
    pub fn of_share(mut self, share: ShareIndex) -> Self {
        self.share = share;
        self
    }
}

impl Node for Batch {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        while self.waiting.len() < self.size && !self.is_over {
            match self.input.pull(context)? {
                Poll::Ready(rows) if self.waiting.is_empty() => self.waiting = rows,
                Poll::Ready(rows) => self.waiting.append(&rows),
                Poll::SkipEvent(skip_event) => return Ok(Poll::SkipEvent(skip_event)),
                Poll::Pending => return Ok(Poll::Pending),
                Poll::End => self.is_over = true,
            }
        }
        let rows = self.waiting.take_front(self.size);
        match rows.len() {
            0 => Ok(Poll::End),
            length if length < self.size && self.drops_remainder => Ok(Poll::End),
            _ => {
                let checkpoint = Checkpoint::new([self.next, self.size as u64], [rows.checkpoint(0)]);
                let number = self.next + self.share.index;
                self.next += self.share.count;
                let file = self.annotations.of(&self.file_provenance, &rows);
                Ok(Poll::Ready(rows.in_group(Some((file, number))).with_checkpoint(checkpoint)))
            }
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }

    fn ended(&self) -> Option<Ended> {
        let ended = self.input.ended()?;
        let (size, num_before) = if ended.is_within_skip { self.skipped } else { (self.size as u64, 0) };
        Some(ended.map(|num_rows| match num_rows.saturating_sub(num_before) {
            num_rows if self.drops_remainder => num_rows / size,
            num_rows => num_rows.div_ceil(size),
        }))
    }
}
