//! Finds the failing rows in a block by bisection, and skips only those.

use crate::blocks::block::Block;
use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::node::Poll;
use crate::skip_event::{RowsAndSkips, SkipEvents, Skipped};
use headrace_engine::error::Result;
use std::collections::VecDeque;
use std::ops::Range;

/// Work that can be done on any range of rows, and the report of a failing row.
pub trait Bisectable {
    /// The reason for a failure.
    type Failure;

    /// Processes the rows in `range` and returns the resulting rows.
    fn work(&mut self, range: Range<usize>) -> std::result::Result<Block, Self::Failure>;

    /// Reports row `row`, which failed and is skipped. Fails if it cannot be skipped.
    fn leave_out(&mut self, row: usize, failure: Self::Failure) -> Result<Skipped>;
}

/// Processes `num_rows` rows that failed together. Failing ranges are halved until the failing rows
/// are isolated; those are skipped.
pub fn bisect_failures<P: Bisectable>(parts: &mut P, num_rows: usize, failure: P::Failure) -> Result<RowsAndSkips> {
    let mut worked = (Rows::new(), Vec::new());
    bisect(parts, 0..num_rows, failure, &mut worked)?;
    Ok(worked)
}

fn bisect<P: Bisectable>(
    parts: &mut P,
    range: Range<usize>,
    failure: P::Failure,
    worked: &mut RowsAndSkips,
) -> Result<()> {
    if range.len() <= 1 {
        let skipped = parts.leave_out(range.start, failure)?;
        worked.1.push((worked.0.len(), skipped.into()));
        return Ok(());
    }
    let middle = range.start + range.len() / 2;
    for half in [range.start..middle, middle..range.end] {
        match parts.work(half.clone()) {
            Ok(block) => worked.0.append(&Rows::all(block)),
            Err(failure) => bisect(parts, half, failure, worked)?,
        }
    }
    Ok(())
}

/// Converts the output of a task to polls: its rows, which begin at a checkpoint, with the skip
/// events in between.
pub fn polls(rows: Rows, skip_events: SkipEvents, checkpoint: Checkpoint) -> impl Iterator<Item = Poll> {
    let mut rest = rows.with_checkpoint(checkpoint);
    let mut polls = VecDeque::new();
    let mut num_given = 0;
    for (position, skip_event) in skip_events {
        polls.push_back(Poll::Ready(rest.take_front(position - num_given)));
        polls.push_back(Poll::SkipEvent(skip_event));
        num_given = position;
    }
    polls.push_back(Poll::Ready(rest));
    // A filter may have dropped all rows.
    polls.into_iter().filter(|poll| !matches!(poll, Poll::Ready(rows) if rows.is_empty()))
}
