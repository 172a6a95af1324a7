//! Groups rows into batches of a given size.

use crate::blocks::block::{FileProvenance, Pass};
use crate::blocks::part_counts::RowAnnotations;
use crate::blocks::rows::{Group, Rows};
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Ended, Node, Poll};
use crate::nodes::groups::sizes::Sizes;
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use headrace_engine::error::Result;
use std::sync::Arc;

/// Groups rows into batches, whose size may depend on their position. The last batch may be
/// smaller.
pub struct Batch {
    input: Box<dyn Node>,
    sizes: Sizes,
    /// The positions at which the next batch and this node's first batch begin.
    position: u64,
    first: u64,
    drops_remainder: bool,
    waiting: Rows,
    /// True once the end of the input was seen.
    is_over: bool,
    /// The provenance that counts the batches.
    file_provenance: Arc<FileProvenance>,
    /// The number of the first batch in the current round of all shares.
    next: u64,
    share: ShareIndex,
    /// The batches that are skipped, and the number of rows of the input's checkpoint before them.
    skipped: (Start, u64),
    /// The information that a batch keeps about its rows.
    annotations: RowAnnotations,
}

/// The next batch at a checkpoint of a [`Batch`].
#[derive(Clone, Debug)]
pub struct Start {
    /// The number of the first batch in its round of all shares.
    pub next: u64,
    /// The sizes when the checkpoint was created.
    pub sizes: Sizes,
    /// The position at which it begins; 0 if there is only one size.
    pub position: u64,
}

impl Start {
    /// The next batch directly at the state of a checkpoint of batches. After a shard, they may
    /// have had a different size or, with `old_shards`, a different number of ranks.
    pub fn of(checkpoint: &Checkpoint, sizes: &Sizes, old_shards: Option<u64>) -> Result<Self> {
        if sizes.is_constant() {
            let [next, size] = checkpoint.numbers()?.unwrap_or([0, sizes.at(0) as u64]);
            let sizes = Sizes::constant(usize::try_from(size).unwrap_or(usize::MAX));
            return Ok(Self { next, sizes, position: 0 });
        }
        let beginning = [0, 0, old_shards.unwrap_or_else(|| sizes.num_ranks())];
        let [next, position, num_ranks] = checkpoint.numbers()?.unwrap_or(beginning);
        Ok(Self { next, sizes: sizes.of_ranks(num_ranks), position })
    }

    /// The number of rows in the next `num_batches` batches.
    pub fn num_rows(&self, num_batches: u64) -> u64 {
        self.sizes.num_rows(self.position, num_batches)
    }

    fn num_batches(&self, num_rows: u64, drops_remainder: bool) -> u64 {
        self.sizes.num_batches(self.position, num_rows, drops_remainder)
    }
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
    /// The properties of the step for batches of these sizes.
    pub fn facts(sizes: &Sizes) -> StepFacts {
        let batches = if sizes.is_constant() { BatchesOfInput::Makes(sizes.at(0)) } else { BatchesOfInput::None };
        StepFacts {
            is_one_to_one: false,
            is_row_wise: false,
            python_worker: None,
            keeps_pieces: false,
            is_cache: false,
            may_end_early: false,
            shards: RowShards::OfInput,
            batches,
        }
    }

    /// With `drops_remainder` the last rows are dropped if they are fewer than the size.
    pub fn new(input: Box<dyn Node>, sizes: Sizes, drops_remainder: bool, pass: Pass) -> Self {
        let file_provenance = FileProvenance::unnamed("batch", pass);
        let (waiting, share) = (Rows::new(), ShareIndex::ALL);
        let skipped = (Start { next: 0, sizes: sizes.clone(), position: 0 }, 0);
        Self {
            input,
            sizes,
            position: 0,
            first: 0,
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
    /// batch belongs, and the position at which the first batch begins.
    pub fn numbered_from(mut self, next: u64, position: u64) -> Self {
        (self.next, self.position, self.first) = (next, position, position);
        self
    }

    /// Skips batches from `start` on, which begin `num_before` rows after the state of the input's
    /// checkpoint.
    pub fn with_skip(mut self, start: Start, num_before: u64) -> Self {
        self.skipped = (start, num_before);
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
        let size = self.sizes.at(self.position);
        while self.waiting.len() < size && !self.is_over {
            match self.input.pull(context)? {
                Poll::Ready(rows) if self.waiting.is_empty() => self.waiting = rows,
                Poll::Ready(rows) => self.waiting.append(&rows),
                Poll::SkipEvent(skip_event) => return Ok(Poll::SkipEvent(skip_event)),
                Poll::Pending => return Ok(Poll::Pending),
                Poll::End => self.is_over = true,
            }
        }
        let rows = self.waiting.take_front(size);
        match rows.len() {
            0 => Ok(Poll::End),
            length if length < size && self.drops_remainder => Ok(Poll::End),
            _ => {
                let input = [rows.checkpoint(0)];
                let checkpoint = match self.sizes.is_constant() {
                    true => Checkpoint::new([self.next, size as u64], input),
                    false => Checkpoint::new([self.next, self.position, self.sizes.num_ranks()], input),
                };
                let number = self.next + self.share.index;
                self.next += self.share.count;
                self.position = self.position.saturating_add((size as u64).saturating_mul(self.sizes.num_ranks()));
                let file = self.annotations.of(&self.file_provenance, &rows);
                Ok(Poll::Ready(rows.in_group(Some(Group { file, number, size })).with_checkpoint(checkpoint)))
            }
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }

    fn ended(&self) -> Option<Ended> {
        let ended = self.input.ended()?;
        let own = (Start { next: 0, sizes: self.sizes.clone(), position: self.first }, 0);
        let (start, num_before) = if ended.is_within_skip { &self.skipped } else { &own };
        Some(ended.map(|num_rows| start.num_batches(num_rows.saturating_sub(*num_before), self.drops_remainder)))
    }
}
