//! Selects the rows of one rank.

use crate::blocks::rows::Rows;
use crate::budget::Budget;
use crate::checkpoint::{Checkpoint, damaged};
use crate::node::{Context, Ended, Node, Poll};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use crate::nodes::take::few;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// How to treat the last rows if there are fewer of them than shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Even {
    /// Some shards get one more row than others.
    #[default]
    Uneven,
    /// No shard gets them.
    Drop,
    /// The remaining shards repeat them.
    Pad,
}

impl Even {
    /// Returns the number of rows in the shortest and the longest shard, after `whole` rows per
    /// shard and `rest` additional rows.
    fn fewest_and_most(self, whole: u64, rest: u64) -> (u64, u64) {
        let most = whole + u64::from(rest > 0);
        match self {
            Self::Uneven => (whole, most),
            Self::Drop => (whole, whole),
            Self::Pad => (most, most),
        }
    }
}

/// Selects every `count`-th row, starting with row `index`.
pub struct Shard {
    input: Box<dyn Node>,
    index: u64,
    count: u64,
    even: Even,
    /// The number of rows returned so far.
    num_returned: u64,
    /// How many rows of the current group of `count` rows have arrived.
    position: u64,
    /// The checkpoint of the group's first row, if it has arrived.
    group: Checkpoint,
    /// Rows of the group that may still be needed: this shard's row, if it can only be returned
    /// once the group is complete, or the rows that may be repeated in its place.
    kept: Rows,
    /// The number of complete groups since this node was created.
    num_groups: u64,
    is_over: bool,
    reshard: Option<Reshard>,
}

/// Skips the rows that all shards returned before a resume with a different number of shards.
struct Reshard {
    /// The previous number of shards.
    count: u64,
    /// The number of rows that each shard had returned before the skipped rows.
    num_returned: u64,
    num_skipped: u64,
    num_rows: u64,
}

impl Shard {
    /// The properties of the step for `count` shards.
    pub const fn facts(count: u64) -> StepFacts {
        StepFacts {
            is_one_to_one: false,
            is_row_wise: false,
            python_worker: None,
            keeps_pieces: false,
            is_cache: false,
            may_end_early: false,
            shards: RowShards::Selects(count),
            batches: BatchesOfInput::None,
        }
    }

    /// Returns row `index` of each group of `count` input rows. `num_returned` rows were returned
    /// before.
    pub fn new(input: Box<dyn Node>, index: u64, count: u64, num_returned: u64) -> Self {
        Self {
            input,
            index,
            count,
            even: Even::Uneven,
            num_returned,
            position: 0,
            group: Checkpoint::default(),
            kept: Rows::new(),
            num_groups: 0,
            is_over: false,
            reshard: None,
        }
    }

    /// Sets how the last rows are treated.
    pub fn evenly(mut self, even: Even) -> Self {
        self.even = even;
        self
    }

    /// Skips `skip` more rows of each of `old_count` shards. The rows are skipped one by one,
    /// because the input may end among them.
    pub fn advanced_by(mut self, skip: u64, old_count: u64) -> Result<Self> {
        let num_rows = skip.checked_mul(old_count).filter(|_| old_count > 0).ok_or_else(damaged)?;
        self.reshard = Some(Reshard { count: old_count, num_returned: self.num_returned, num_skipped: 0, num_rows });
        Ok(self)
    }

    /// Drops the rows that are still to be skipped.
    fn unskipped(&mut self, mut rows: Rows) -> Result<Rows> {
        let Some(reshard) = &mut self.reshard else { return Ok(rows) };
        let rest = reshard.num_rows - reshard.num_skipped;
        reshard.num_skipped += rows.take_front(usize::try_from(rest).unwrap_or(usize::MAX)).len() as u64;
        if rows.is_empty() {
            return Ok(rows);
        }
        let Reshard { count, num_returned, num_rows, .. } = *reshard;
        self.num_returned = resharded(num_returned.saturating_add(num_rows / count), count, self.count)?;
        self.reshard = None;
        Ok(rows)
    }

    /// Returns true if this shard's row of the current group has been returned.
    fn has_given(&self) -> bool {
        self.position > self.index && self.even != Even::Drop
    }

    /// Returns the checkpoint of the next row after `rows`. It is the same for all shards: the
    /// first row of the group to which the next row belongs.
    fn checkpoint(&self, rows: &Rows) -> Checkpoint {
        let group = match self.position {
            0 => rows.checkpoint(0),
            position if self.has_given() => rows.checkpoint((self.count - position) as usize),
            _ => self.group.clone(),
        };
        self.checkpoint_at(group)
    }

    fn checkpoint_at(&self, group: Checkpoint) -> Checkpoint {
        Checkpoint::new([self.num_returned, self.count], [group])
    }

    /// Selects this shard's rows.
    fn take(&mut self, rows: &Rows) -> Rows {
        let mut taken = Rows::new();
        // This shard's row of an incomplete group.
        let mut own = None;
        for (number, (block, row)) in rows.iter().enumerate() {
            if self.position == self.index {
                match self.even {
                    Even::Drop => own = Some((block, row)),
                    Even::Uneven | Even::Pad => taken.push(block, row, 1),
                }
                self.kept = Rows::new();
            } else if self.even == Even::Pad && self.position < self.index {
                self.kept.push(block, row, 1);
            }
            self.position += 1;
            if self.position == self.count {
                self.position = 0;
                self.num_groups += 1;
                if self.even == Even::Drop {
                    taken.append(&std::mem::take(&mut self.kept));
                    if let Some((block, row)) = own.take() {
                        taken.push(block, row, 1);
                    }
                }
            }
            if self.position == 1 && number + (self.count as usize) > rows.len() {
                self.group = rows.checkpoint(number);
            }
        }
        if let Some((block, row)) = own {
            self.kept.push(block, row, 1);
        }
        taken
    }

    /// Returns the row to repeat at the end, if the last group has no row for this shard.
    fn repeated(&mut self, budget: &Arc<Budget>) -> Result<Option<Rows>> {
        if self.even != Even::Pad || self.position == 0 || self.position > self.index {
            return Ok(None);
        }
        let mut kept = std::mem::take(&mut self.kept);
        kept.take_front((self.index % self.position) as usize);
        let row = kept.take_front(1).copy()?;
        let charge = budget.charge(row.held_bytes());
        let provenance = row.provenance().repeated();
        let rows = Rows::all(row.charged(charge).with_provenance(provenance));
        Ok(Some(rows.with_checkpoint(self.checkpoint_at(self.group.clone()))))
    }
}

impl Node for Shard {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if self.is_over {
                return Ok(Poll::End);
            }
            let rows = match self.input.pull(context)? {
                Poll::Ready(rows) => rows,
                Poll::End => {
                    self.is_over = true;
                    let repeated = self.repeated(context.budget)?;
                    return Ok(repeated.map_or(Poll::End, Poll::Ready));
                }
                poll => return Ok(poll),
            };
            let rows = self.unskipped(rows)?;
            if rows.is_empty() {
                continue;
            }
            let checkpoint = self.checkpoint(&rows);
            let taken = self.take(&rows);
            if !self.kept.is_empty() {
                self.kept = few(std::mem::take(&mut self.kept), context.budget)?;
            }
            if !taken.is_empty() {
                self.num_returned += taken.len() as u64;
                return Ok(Poll::Ready(few(taken, context.budget)?.with_checkpoint(checkpoint)));
            }
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }

    fn ended(&self) -> Option<Ended> {
        if let Some(Reshard { count, num_skipped, num_rows, .. }) = self.reshard
            && num_skipped < num_rows
        {
            let (whole, rest) = (num_skipped / count, num_skipped % count);
            let (fewest, most) = self.even.fewest_and_most(whole, rest);
            let mine = fewest + u64::from(fewest < most && count == self.count && self.index < rest);
            return Some(Ended { fewest, most, mine, is_within_skip: true });
        }
        let (fewest, most) = self.even.fewest_and_most(self.num_groups, self.position);
        let mine = fewest + u64::from(fewest < most && self.index < self.position);
        Some(Ended { fewest, most, mine, is_within_skip: false })
    }
}

/// Converts a number of returned rows from `old_count` shards to `count` shards.
pub fn resharded(num_returned: u64, old_count: u64, count: u64) -> Result<u64> {
    let position = num_returned.checked_mul(old_count).ok_or_else(damaged)?;
    match position % count {
        0 => Ok(position / count),
        _ => Err(Error::invalid_argument(format!(
            "it was saved with {old_count} shards after {position} examples in all, which is not a multiple of the \
             {count} in shard(..., {count}). Use a number of shards that divides {position}"
        ))),
    }
}
