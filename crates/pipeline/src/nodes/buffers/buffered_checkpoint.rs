//! Checkpoints for nodes that have to list their buffered rows one by one.

use crate::checkpoint::{Checkpoint, State, damaged};
use headrace_engine::error::Result;
use headrace_engine::order;
use std::cmp::Reverse;

/// The average number of buffered rows per position from which rows are read again.
const ROWS_OF_A_PART: usize = 8;
const LEAST_PARTS: usize = 4;

/// The state of a node that buffers input rows and stores `N` numbers of its own.
pub struct BufferedCheckpoint<const N: usize> {
    /// The node's own numbers.
    pub numbers: [u64; N],
    /// The numbers of the buffered rows, in ascending order.
    pub rows: Vec<u64>,
    /// One tag per buffered row, or empty if the node has no tags.
    pub tags: Vec<u64>,
    /// The number of the next input row.
    pub next_row: u64,
    /// The positions from which to read rows again, as row numbers with checkpoints, in ascending
    /// order. The last one is the position of the next row.
    pub parts: Vec<(u64, Checkpoint)>,
}

impl<const N: usize> BufferedCheckpoint<N> {
    /// Creates a checkpoint. It stores the node's own numbers, the buffered rows and their tags,
    /// the next row, and the checkpoints from which the buffered rows can be read again, in
    /// ascending order.
    pub fn checkpoint<'a>(
        numbers: [u64; N],
        rows: &[u64],
        tags: &[u64],
        next: (u64, Checkpoint),
        arrivals: impl Iterator<Item = (u64, &'a Checkpoint)>,
    ) -> Checkpoint {
        let mut parts = few(parts(rows, arrivals), (rows.len() / ROWS_OF_A_PART).max(LEAST_PARTS));
        parts.push((next.0, &next.1));
        let mut all = numbers.to_vec();
        all.extend([parts.len() as u64, rows.len() as u64]);
        all.extend(differences(parts.iter().map(|part| part.0)));
        all.extend(differences(rows.iter().copied()));
        all.extend_from_slice(tags);
        Checkpoint::new(all, parts.into_iter().map(|part| part.1.clone()))
    }

    /// Reads a checkpoint. Returns `None` at the beginning of the input.
    pub fn of(checkpoint: &Checkpoint) -> Result<Option<Self>> {
        let Some(State { numbers: all, inputs, .. }) = checkpoint.state() else { return Ok(None) };
        let (numbers, rest) = all.split_first_chunk::<N>().ok_or_else(damaged)?;
        let ([num_parts, num_rows], rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        if *num_parts == 0 || *num_parts != inputs.len() as u64 {
            return Err(damaged());
        }
        let (firsts, rest) = rest.split_at_checked(inputs.len()).ok_or_else(damaged)?;
        let num_rows = usize::try_from(*num_rows).map_err(|_| damaged())?;
        let (rows, tags) = rest.split_at_checked(num_rows).ok_or_else(damaged)?;
        let (firsts, rows, tags) = (sums(firsts)?, sums(rows)?, tags.to_vec());
        let next_row = firsts.last().copied().ok_or_else(damaged)?;
        let parts = firsts.into_iter().zip(inputs.iter().cloned()).collect();
        Ok(Some(Self { numbers: *numbers, rows, tags, next_row, parts }))
    }
}

/// A position from which rows can be read: a row number, its checkpoint, and how many rows are
/// skipped by starting there.
type Part<'a> = (u64, &'a Checkpoint, u64);

/// For each row, returns the last position from which it can be read.
fn parts<'a>(rows: &[u64], arrivals: impl Iterator<Item = (u64, &'a Checkpoint)>) -> Vec<Part<'a>> {
    let mut arrivals = arrivals.peekable();
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut before = 0;
    for row in rows {
        let mut last = None;
        while let Some(arrival) = arrivals.next_if(|arrival| arrival.0 <= *row) {
            last = Some(arrival);
        }
        if let Some((first, checkpoint)) = last {
            parts.push((first, checkpoint, first.saturating_sub(before)));
        }
        before = *row;
    }
    parts
}

/// Keeps at most `most` positions: the first one and those that skip the most rows. The order does
/// not change.
fn few(mut parts: Vec<Part<'_>>, most: usize) -> Vec<(u64, &Checkpoint)> {
    if let Some(first) = parts.first_mut() {
        first.2 = u64::MAX;
    }
    let mut is_kept: Vec<_> = parts.iter().map(|_| parts.len() <= most).collect();
    if parts.len() > most {
        let sparing = order::by_key(parts.len(), |position| Reverse(parts[position].2));
        sparing[..most].iter().for_each(|position| is_kept[*position] = true);
    }
    let kept = parts.into_iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
    kept.map(|((first, checkpoint, _), _)| (first, checkpoint)).collect()
}

/// Returns the first number, followed by the differences between neighbours.
fn differences(numbers: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    numbers.scan(0, |before, number| Some(number - std::mem::replace(before, number)))
}

fn sums(differences: &[u64]) -> Result<Vec<u64>> {
    let mut sum: u64 = 0;
    let add = |difference: &u64| {
        sum = sum.checked_add(*difference)?;
        Some(sum)
    };
    differences.iter().map(add).collect::<Option<_>>().ok_or_else(damaged)
}

/// Makes checkpoints for batches. Most of them only count the batches since the last full state.
#[derive(Default)]
pub struct BatchCheckpoints {
    last: Checkpoint,
    num_batches: u64,
    num_rows: usize,
}

impl BatchCheckpoints {
    /// Returns true if a new state is due. That is the case once as many rows were returned since
    /// the last state as there are rows waiting now.
    pub fn is_due(&self, num_waiting: usize) -> bool {
        self.num_rows >= num_waiting.max(LEAST_ROWS)
    }

    /// Sets the state from which later batches can be rebuilt.
    pub fn set(&mut self, checkpoint: Checkpoint) {
        *self = Self { last: checkpoint, num_batches: 0, num_rows: 0 };
    }

    /// Returns the checkpoint of the next batch, which has `num_rows` rows.
    pub fn next(&mut self, num_rows: usize) -> Checkpoint {
        let checkpoint = self.last.advanced_by(self.num_batches);
        self.num_batches += 1;
        self.num_rows += num_rows;
        checkpoint
    }
}

/// The minimum number of rows between two states.
const LEAST_ROWS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoint_lists_buffered_rows_and_their_source_positions() {
        let checkpoints: Vec<_> = (0..40).map(|number| Checkpoint::new([number], [])).collect();
        let arrivals = || (0..40_u64).map(|number| (10 * number, &checkpoints[number as usize]));
        let waiting = |rows: &[u64]| {
            let checkpoint = BufferedCheckpoint::checkpoint([7], rows, &[9], (400, Checkpoint::default()), arrivals());
            BufferedCheckpoint::<1>::of(&checkpoint).unwrap().unwrap()
        };
        let few = waiting(&[3, 55, 58, 399]);
        assert_eq!((few.numbers, few.next_row), ([7], 400));
        assert_eq!((&few.rows[..], &few.tags[..]), (&[3, 55, 58, 399][..], &[9][..]));
        assert_eq!(few.parts.iter().map(|part| part.0).collect::<Vec<_>>(), [0, 50, 390, 400]);
        assert_eq!(few.parts[1].1, checkpoints[5]);
        // The positions that skip the most rows are kept.
        let many = waiting(&[3, 15, 25, 35, 45, 95, 105, 395]);
        assert_eq!(many.parts.iter().map(|part| part.0).collect::<Vec<_>>(), [0, 10, 90, 390, 400]);
        assert_eq!(waiting(&[]).parts.len(), 1);
    }

    #[test]
    fn state_of_a_different_shape_is_rejected() {
        let state = |numbers: &[u64], num_inputs: usize| {
            let inputs = (0..num_inputs).map(|_| Checkpoint::default());
            BufferedCheckpoint::<1>::of(&Checkpoint::new(numbers.iter().copied(), inputs)).map(drop)
        };
        assert!(state(&[0, 1, 2, 5, 1, 2], 1).is_ok());
        assert!(state(&[], 0).is_err());
        assert!(state(&[0, 0, 0], 0).is_err());
        assert!(state(&[0, 2, 0, 1], 2).is_err());
        assert!(state(&[0, 1, 3, 5, 1, 2], 1).is_err());
        assert!(state(&[0, 1, 2, 5, 1, u64::MAX], 1).is_err());
    }
}
