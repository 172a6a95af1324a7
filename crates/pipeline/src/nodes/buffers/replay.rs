//! Replays an input: reads some of its rows again by number, and then all later rows.

use crate::blocks::rows::Rows;
use crate::checkpoint::{Checkpoint, damaged};
use crate::node::{Context, Node, Poll};
use crate::skip_event::SkipEvent;
use headrace_engine::error::{Error, Result};
use std::collections::VecDeque;
use std::ops::Range;

/// Creates the input node, starting at a checkpoint.
pub type Restart = Box<dyn Fn(&Checkpoint) -> Result<Box<dyn Node>> + Send>;

/// An input that can be replayed. Normally it returns all rows. After a resume it first returns a
/// selection of earlier rows.
pub struct Replay {
    node: Box<dyn Node>,
    /// The number of the next row of `node`.
    next: u64,
    /// Rows of `node` that have not been processed yet.
    rows: Rows,
    /// Ranges of requested row numbers, in ascending order. The last range is open-ended.
    wanted: VecDeque<Range<u64>>,
    /// Later row numbers and their checkpoints. Jumping to one of them avoids reading the rows in
    /// between.
    parts: VecDeque<(u64, Checkpoint)>,
    restart: Option<Restart>,
    /// True if the node has to catch up with its checkpoint before it is polled.
    catches_up: bool,
}

/// The result of polling an input.
pub enum ReplayPoll {
    /// Rows with consecutive numbers, starting at this one.
    Rows(u64, Rows),
    /// A report of rows that were skipped before the next row.
    SkipEvent(SkipEvent),
    /// Nothing is available until a task finishes.
    Pending,
    /// No more rows.
    End,
}

impl Replay {
    /// All rows.
    pub fn new(node: Box<dyn Node>) -> Self {
        let (rows, mut wanted, parts) = (Rows::new(), VecDeque::new(), VecDeque::new());
        wanted.push_back(0..u64::MAX);
        Self { node, next: 0, rows, wanted, parts, restart: None, catches_up: false }
    }

    /// Returns the rows with the numbers in `wanted`, then all rows from `next` on. They are read
    /// from the checkpoints in `parts`. All lists are in ascending order.
    pub fn recalled(parts: Vec<(u64, Checkpoint)>, wanted: &[u64], next: u64, restart: Restart) -> Result<Self> {
        let mut parts = VecDeque::from(parts);
        let Some((first, checkpoint)) = parts.pop_front() else { return Err(damaged()) };
        let is_rising = wanted.windows(2).all(|pair| pair[0] < pair[1]) && parts.iter().is_sorted_by_key(|part| part.0);
        let least = wanted.first().copied().unwrap_or(next);
        if !is_rising || first > least || wanted.last().is_some_and(|last| *last >= next) {
            return Err(damaged());
        }
        let mut ranges: VecDeque<Range<u64>> = VecDeque::new();
        for number in wanted {
            match ranges.back_mut() {
                Some(last) if last.end == *number => last.end += 1,
                _ => ranges.push_back(*number..number + 1),
            }
        }
        match ranges.back_mut() {
            Some(last) if last.end == next => last.end = u64::MAX,
            _ => ranges.push_back(next..u64::MAX),
        }
        let node = restart(&checkpoint)?;
        Ok(Self {
            node,
            next: first,
            rows: Rows::new(),
            wanted: ranges,
            parts,
            restart: Some(restart),
            catches_up: false,
        })
    }

    /// Pulls the next requested rows.
    pub fn pull(&mut self, context: &mut Context) -> Result<ReplayPoll> {
        loop {
            let Some(wanted) = self.wanted.front().cloned() else { return Err(Error::internal("nothing is wanted")) };
            if wanted.start >= self.next + self.rows.len() as u64 {
                self.next += std::mem::take(&mut self.rows).len() as u64;
                self.go_to(wanted.start)?;
                if self.catches_up && !self.node.replay_skipped(context)? {
                    return Ok(ReplayPoll::Pending);
                }
                match self.node.pull(context)? {
                    Poll::Ready(rows) => self.rows = rows,
                    Poll::SkipEvent(skip_event) => return Ok(ReplayPoll::SkipEvent(skip_event)),
                    Poll::Pending => return Ok(ReplayPoll::Pending),
                    Poll::End => return Ok(ReplayPoll::End),
                }
                continue;
            }
            if wanted.start > self.next {
                let before = self.rows.take_front((wanted.start - self.next) as usize);
                self.next += before.len() as u64;
            }
            let rows = self.rows.take_front(usize::try_from(wanted.end - self.next).unwrap_or(usize::MAX));
            let first = self.next;
            self.next += rows.len() as u64;
            match self.wanted.front_mut() {
                Some(wanted) if self.next < wanted.end => wanted.start = self.next,
                _ => drop(self.wanted.pop_front()),
            }
            return Ok(ReplayPoll::Rows(first, rows));
        }
    }

    /// Lets the node catch up with its checkpoint, including after later restarts.
    pub fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.catches_up = true;
        self.node.replay_skipped(context)
    }

    /// Restarts at the last position up to row `number`, if that is further ahead than the current
    /// one.
    fn go_to(&mut self, number: u64) -> Result<()> {
        let mut found = None;
        while self.parts.front().is_some_and(|(first, _)| *first <= number) {
            found = self.parts.pop_front();
        }
        if let (Some((first, checkpoint)), Some(restart)) = (found, &self.restart)
            && first > self.next
        {
            (self.node, self.next) = (restart(&checkpoint)?, first);
        }
        Ok(())
    }
}
