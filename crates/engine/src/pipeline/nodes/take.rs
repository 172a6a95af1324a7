//! Some of the rows, by their places: `take`, `skip` and `shard`.

use crate::error::Result;
use crate::pipeline::budget::Budget;
use crate::pipeline::node::{Context, Node, Poll};
use crate::pipeline::rows::Rows;
use std::sync::Arc;

/// The first rows.
pub struct Take {
    input: Box<dyn Node>,
    rest: u64,
}

impl Take {
    /// The first `count` rows of `input`.
    pub fn new(input: Box<dyn Node>, count: u64) -> Self {
        Self { input, rest: count }
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
        self.rest -= rows.len() as u64;
        Ok(Poll::Ready(rows))
    }
}

/// All but the first rows.
pub struct Skip {
    input: Box<dyn Node>,
    rest: u64,
}

impl Skip {
    /// The rows of `input` behind the first `count`.
    pub fn new(input: Box<dyn Node>, count: u64) -> Self {
        Self { input, rest: count }
    }
}

impl Node for Skip {
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
}

/// The rows, copied if they are few of their blocks: the others need not wait with them.
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
    count: u64,
    /// How many rows come before the next one that is taken.
    skip: u64,
}

impl Shard {
    /// Row `index` of each `count` rows of `input`.
    pub fn new(input: Box<dyn Node>, index: u64, count: u64) -> Self {
        Self { input, count, skip: index }
    }
}

impl Node for Shard {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            let poll = self.input.pull(context)?;
            let Poll::Ready(rows) = poll else { return Ok(poll) };
            let mut taken = Rows::new();
            for (block, row) in rows.iter() {
                if self.skip == 0 {
                    taken.push(block, row, 1);
                    self.skip = self.count;
                }
                self.skip -= 1;
            }
            if !taken.is_empty() {
                return few(taken, context.budget).map(Poll::Ready);
            }
        }
    }
}
