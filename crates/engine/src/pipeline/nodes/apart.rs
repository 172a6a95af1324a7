//! Rows that are worked on in parts, since some of them fail and are left out.

use crate::error::Result;
use crate::pipeline::block::Block;
use crate::pipeline::mark::Mark;
use crate::pipeline::node::Poll;
use crate::pipeline::rows::Rows;
use crate::pipeline::skipped::{Noted, Notes, Skipped};
use std::collections::VecDeque;
use std::ops::Range;

/// What is done with the rows of a range, and what is said of one that failed.
pub trait Parts {
    /// Why it failed.
    type Failure;

    /// The rows that come of those in `range`.
    fn work(&mut self, range: Range<usize>) -> std::result::Result<Block, Self::Failure>;

    /// What is left out if row `row` failed. Fails if it cannot be left out.
    fn leave_out(&mut self, row: usize, failure: Self::Failure) -> Result<Skipped>;
}

/// Works on `num_rows` rows, which have failed together. What fails is parted until single rows are left, which are left out.
pub fn work_apart<P: Parts>(parts: &mut P, num_rows: usize, failure: P::Failure) -> Result<Noted> {
    let mut noted = (Rows::new(), Vec::new());
    part(parts, 0..num_rows, failure, &mut noted)?;
    Ok(noted)
}

fn part<P: Parts>(parts: &mut P, range: Range<usize>, failure: P::Failure, noted: &mut Noted) -> Result<()> {
    if range.len() <= 1 {
        let skipped = parts.leave_out(range.start, failure)?;
        noted.1.push((noted.0.len(), skipped.into()));
        return Ok(());
    }
    let middle = range.start + range.len() / 2;
    for half in [range.start..middle, middle..range.end] {
        match parts.work(half.clone()) {
            Ok(block) => noted.0.append(&Rows::all(block)),
            Err(failure) => part(parts, half, failure, noted)?,
        }
    }
    Ok(())
}

/// What a node gives of the result of a task: its rows, which begin at a mark, and the notes at their places.
pub fn polls(rows: Rows, notes: Notes, mark: Mark) -> impl Iterator<Item = Poll> {
    let mut rest = rows.marked(mark);
    let mut polls = VecDeque::new();
    let mut num_given = 0;
    for (place, note) in notes {
        polls.push_back(Poll::Ready(rest.take_front(place - num_given)));
        polls.push_back(Poll::Note(note));
        num_given = place;
    }
    polls.push_back(Poll::Ready(rest));
    // A filter may leave nothing.
    polls.into_iter().filter(|poll| !matches!(poll, Poll::Ready(rows) if rows.is_empty()))
}
