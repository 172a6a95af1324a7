//! Selects rows by position: `take`, `skip`, `shard` and shares of batches.

use crate::error::{Error, Result};
use crate::pipeline::blocks::rows::Rows;
use crate::pipeline::checkpoint::{Checkpoint, damaged};
use crate::pipeline::execution::budget::Budget;
use crate::pipeline::node::{Context, Ended, Node, Poll};
use std::sync::Arc;

/// The first rows.
pub struct Take {
    input: Box<dyn Node>,
    given: u64,
    rest: u64,
}

impl Take {
    /// The first `count` rows, `given` of which come before the rows of `input`.
    pub fn new(input: Box<dyn Node>, count: u64, given: u64) -> Self {
        Self { input, given, rest: count.saturating_sub(given) }
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
        let checkpoint = Checkpoint::new([self.given], [rows.checkpoint(0)]);
        self.given += rows.len() as u64;
        self.rest -= rows.len() as u64;
        Ok(Poll::Ready(rows.with_checkpoint(checkpoint)))
    }
}

/// All but the first rows.
pub struct Skip {
    input: Behind,
    /// The number of first rows to skip.
    count: u64,
}

impl Skip {
    /// The rows of `input` after the first `rest`, where `count` rows are skipped from the
    /// beginning.
    pub fn new(input: Box<dyn Node>, count: u64, rest: u64) -> Self {
        Self { input: Behind::new(input, rest), count }
    }
}

impl Node for Skip {
    /// Its checkpoints have a state of their own, even though they only need the input's: a
    /// checkpoint without a state is the beginning, where rows are skipped, and some inputs count
    /// their rows from their beginning.
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        Ok(match self.input.pull(context)? {
            Poll::Ready(rows) => {
                let checkpoint = Checkpoint::new([self.count], [rows.checkpoint(0)]);
                Poll::Ready(rows.with_checkpoint(checkpoint))
            }
            poll => poll,
        })
    }
}

/// The rows of a resumed node after the first: the checkpoints are the node's.
pub struct Behind {
    input: Box<dyn Node>,
    rest: u64,
}

impl Behind {
    /// The rows of `input` after the first `count`.
    pub fn new(input: Box<dyn Node>, count: u64) -> Self {
        Self { input, rest: count }
    }
}

impl Node for Behind {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            let poll = self.input.pull(context)?;
            let Poll::Ready(mut rows) = poll else { return Ok(poll) };
            let skipped = rows.take_front(usize::try_from(self.rest).unwrap_or(usize::MAX));
            self.rest -= skipped.len() as u64;
            if !rows.is_empty() {
                return Ok(Poll::Ready(rows));
            }
        }
    }

    fn ended(&self) -> Option<Ended> {
        self.input.ended()
    }
}

/// The rows of a node after the first `skip`.
pub fn behind(node: Box<dyn Node>, skip: u64) -> Box<dyn Node> {
    if skip == 0 { node } else { Box::new(Behind::new(node, skip)) }
}

/// The rows, copied if they are few of their blocks, so that the other rows are freed.
fn few(rows: Rows, budget: &Arc<Budget>) -> Result<Rows> {
    if !rows.are_few() {
        return Ok(rows);
    }
    let copy = rows.copy()?;
    let charge = budget.charge(copy.held_bytes());
    Ok(Rows::all(copy.charged(charge)))
}

/// Every `count`-th row, from row `index` on.
pub struct Shard {
    input: Box<dyn Node>,
    index: u64,
    count: u64,
    /// The number of rows returned.
    given: u64,
    /// The number of rows that have come of the next `count` rows of the input.
    place: u64,
    /// The checkpoint of the first of these, if it has come.
    group: Checkpoint,
    /// The number of rows returned since it was started.
    given_here: u64,
    skipping: Option<Skipping>,
}

/// Rows of the input that shards have returned before, while they are skipped.
struct Skipping {
    /// The number of old shards.
    count: u64,
    /// The number of rows that a shard had returned when they began.
    given: u64,
    num_skipped: u64,
    num_rows: u64,
}

impl Shard {
    /// Row `index` of each `count` rows of `input`, with `given` rows returned before.
    pub fn new(input: Box<dyn Node>, index: u64, count: u64, given: u64) -> Self {
        let (place, group, given_here, skipping) = (0, Checkpoint::default(), 0, None);
        Self { input, index, count, given, place, group, given_here, skipping }
    }

    /// The same after `skip` more rows of each of `old_count` shards, whose rows are skipped one by
    /// one, since the end may be among them.
    pub fn behind(mut self, skip: u64, old_count: u64) -> Result<Self> {
        let num_rows = skip.checked_mul(old_count).filter(|_| old_count > 0).ok_or_else(damaged)?;
        self.skipping = Some(Skipping { count: old_count, given: self.given, num_skipped: 0, num_rows });
        Ok(self)
    }

    /// The rows after the skipped ones.
    fn unskipped(&mut self, mut rows: Rows) -> Result<Rows> {
        let Some(skipping) = &mut self.skipping else { return Ok(rows) };
        let rest = skipping.num_rows - skipping.num_skipped;
        skipping.num_skipped += rows.take_front(usize::try_from(rest).unwrap_or(usize::MAX)).len() as u64;
        if rows.is_empty() {
            return Ok(rows);
        }
        let Skipping { count, given, num_rows, .. } = *skipping;
        self.given = resharded(given.saturating_add(num_rows / count), count, self.count)?;
        self.skipping = None;
        Ok(rows)
    }

    /// The checkpoint of the next row to return, for any shard: at the first of the `count` rows to
    /// which it belongs. `rows` have come.
    fn checkpoint(&self, rows: &Rows) -> Checkpoint {
        let group = match self.place {
            0 => rows.checkpoint(0),
            place if place <= self.index => self.group.clone(),
            place => rows.checkpoint((self.count - place) as usize),
        };
        Checkpoint::new([self.given, self.count], [group])
    }
}

impl Node for Shard {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            let poll = self.input.pull(context)?;
            let Poll::Ready(rows) = poll else { return Ok(poll) };
            let rows = self.unskipped(rows)?;
            if rows.is_empty() {
                continue;
            }
            let checkpoint = self.checkpoint(&rows);
            let mut taken = Rows::new();
            for (number, (block, row)) in rows.iter().enumerate() {
                if self.place == self.index {
                    taken.push(block, row, 1);
                }
                self.place += 1;
                if self.place == self.count {
                    self.place = 0;
                }
                if self.place == 1 && number + (self.count as usize) > rows.len() {
                    self.group = rows.checkpoint(number);
                }
            }
            if !taken.is_empty() {
                self.given += taken.len() as u64;
                self.given_here += taken.len() as u64;
                return Ok(Poll::Ready(few(taken, context.budget)?.with_checkpoint(checkpoint)));
            }
        }
    }

    fn ended(&self) -> Option<Ended> {
        if let Some(Skipping { count, num_skipped, num_rows, .. }) = self.skipping
            && num_skipped < num_rows
        {
            let (fewest, rest) = (num_skipped / count, num_skipped % count);
            let mine = fewest + u64::from(count == self.count && self.index < rest);
            let most = fewest + u64::from(rest > 0);
            return Some(Ended { fewest, most, mine, is_within_skip: true });
        }
        let fewest = self.given_here - u64::from(self.place > self.index);
        let most = fewest + u64::from(self.place > 0);
        Some(Ended { fewest, most, mine: self.given_here, is_within_skip: false })
    }
}

/// The number of rows that a shard of `count` has returned where a shard of `old_count` has
/// returned `given`.
pub fn resharded(given: u64, old_count: u64, count: u64) -> Result<u64> {
    let place = given.checked_mul(old_count).ok_or_else(damaged)?;
    match place % count {
        0 => Ok(place / count),
        _ => Err(Error::invalid_argument(format!(
            "it was taken after {place} examples of the global order, in {old_count} shards, which shard(..., {count}) does not \
             divide. Use a number of shards that divides {place}"
        ))),
    }
}

/// Runs of `run` rows; every `count`-th run is kept: the rows of every `count`-th batch, before the
/// stages that make batches.
pub struct Share {
    input: Box<dyn Node>,
    index: u64,
    count: u64,
    run: u64,
    /// The number of rows that have come of the next `count` runs of the input.
    place: u64,
    /// The checkpoint of the first of these.
    group: Checkpoint,
}

impl Share {
    /// Run `index` of each `count` runs of `input`.
    pub fn new(input: Box<dyn Node>, index: u64, count: u64, run: u64) -> Self {
        Self { input, index, count, run, place: 0, group: Checkpoint::default() }
    }
}

impl Node for Share {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            let poll = self.input.pull(context)?;
            let Poll::Ready(rows) = poll else { return Ok(poll) };
            let (mut taken, mut checkpoint) = (Rows::new(), None);
            for (number, (block, row)) in rows.iter().enumerate() {
                if self.place == 0 {
                    self.group = rows.checkpoint(number);
                }
                if self.place / self.run == self.index {
                    // The same number of rows is returned for each of the `count` runs, so the
                    // skipped rows are counted separately.
                    let behind = self.place % self.run;
                    checkpoint
                        .get_or_insert_with(|| Checkpoint::new([self.count], [self.group.clone()]).behind(behind));
                    taken.push(block, row, 1);
                }
                self.place = (self.place + 1) % (self.run * self.count);
            }
            if let Some(checkpoint) = checkpoint {
                return Ok(Poll::Ready(few(taken, context.budget)?.with_checkpoint(checkpoint)));
            }
        }
    }
}
