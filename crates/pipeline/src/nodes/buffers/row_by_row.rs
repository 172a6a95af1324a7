//! An input whose rows are consumed one by one.

use crate::blocks::block::Block;
use crate::blocks::rows::{Cursor, Rows};
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll};
use crate::skip_event::SkipEvent;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// One of several inputs whose rows are consumed one by one.
pub struct Input {
    /// `None` once the input has ended.
    pub node: Option<Box<dyn Node>>,
    rows: Cursor,
    /// The checkpoint of the first row.
    pub first: Checkpoint,
    /// True if functions keep state. The checkpoint then points directly after the last consumed
    /// row, because a filter may drop rows before the next one.
    pub is_behind_last: bool,
    /// The checkpoint after the last row, until the next row is consumed.
    behind_last: Option<Checkpoint>,
    has_come: bool,
    /// True if no more rows are consumed from this input.
    pub is_left_out: bool,
    /// An error to return after the rows before it.
    pub error: Option<Error>,
    /// A report of rows skipped before the next row. It has to be returned before the input is
    /// polled again.
    pub skip_event: Option<SkipEvent>,
    /// The block of the last row, with its index in the current group of rows.
    known: Option<(Arc<Block>, usize)>,
}

impl Input {
    /// Wraps a node that begins at the checkpoint `first`.
    pub fn new(node: Box<dyn Node>, first: Checkpoint) -> Self {
        Self {
            node: Some(node),
            rows: Cursor::default(),
            first,
            is_behind_last: false,
            behind_last: None,
            has_come: false,
            is_left_out: false,
            error: None,
            skip_event: None,
            known: None,
        }
    }

    /// Moves the next row to the end of `rows`, if one is available. Returns the row's size: the
    /// length of column `measured`, or 1 if there is none.
    pub fn push_next(&mut self, rows: &mut Rows, measured: Option<usize>) -> Option<u64> {
        if self.rows.is_empty() {
            return None;
        }
        let (block, row) = self.take_run(rows, 1);
        rows.push_run(block, row, 1);
        let column = measured.and_then(|number| self.known.as_ref()?.0.columns.get(number));
        Some(column.map_or(1, |column| column.row_length(row) as u64))
    }

    /// Returns a lower bound for the number of rows that come next and are consecutive in their
    /// block.
    pub fn run_length(&self) -> usize {
        self.rows.run_length()
    }

    /// Takes `count` rows, which must be between 1 and [`Input::run_length`]. Returns the first row
    /// and the number of their block in `rows`, for use with [`Rows::push_run`].
    pub fn take_run(&mut self, rows: &mut Rows, count: usize) -> (usize, usize) {
        let Some((block, row)) = self.rows.next_run(count) else { return (0, 0) };
        self.behind_last = None;
        match &self.known {
            Some((known, number)) if Arc::ptr_eq(known, block) => (*number, row),
            _ => {
                let number = rows.add_block(block);
                self.known = Some((Arc::clone(block), number));
                (number, row)
            }
        }
    }

    /// Returns true if none of its rows is available now but more may come.
    pub fn is_pending(&self) -> bool {
        self.node.is_some() && self.rows.is_empty() && self.skip_event.is_none()
    }

    /// Begins a new group of rows, which has no blocks yet.
    pub fn begin_group(&mut self) {
        self.known = None;
    }

    /// Returns true if no row is waiting.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the checkpoint of the next row.
    pub fn checkpoint(&self) -> Checkpoint {
        match &self.behind_last {
            Some(checkpoint) => checkpoint.clone(),
            None if self.has_come => self.rows.checkpoint(),
            None => self.first.clone(),
        }
    }

    /// Catches up with its checkpoint, or with its end if no more rows are consumed.
    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        let Some(node) = &mut self.node else { return Ok(true) };
        if !node.replay_skipped(context)? {
            return Ok(false);
        }
        while self.is_left_out {
            match node.pull(context)? {
                Poll::Ready(_) | Poll::SkipEvent(_) => {}
                Poll::Pending => return Ok(false),
                Poll::End => {
                    self.node = None;
                    break;
                }
            }
        }
        Ok(true)
    }

    /// Polls for more rows.
    pub fn fill(&mut self, context: &mut Context) {
        let Some(node) = self.node.as_mut().filter(|_| self.skip_event.is_none()) else { return };
        match node.pull(context) {
            Ok(Poll::SkipEvent(skip_event)) => self.skip_event = Some(skip_event),
            Ok(Poll::Ready(rows)) => {
                self.behind_last = self.is_behind_last.then(|| self.checkpoint());
                self.rows = Cursor::new(rows);
                self.has_come = true;
            }
            Ok(Poll::Pending) => {}
            Ok(Poll::End) => self.node = None,
            Err(error) => {
                self.node = None;
                self.error = Some(error);
            }
        }
    }
}

/// Lets all inputs catch up with their checkpoints; see [`Node::replay_skipped`].
pub fn all_catch_up<'a>(inputs: impl Iterator<Item = &'a mut Input>, context: &mut Context) -> Result<bool> {
    let mut have_all = true;
    for input in inputs {
        have_all &= input.replay_skipped(context)?;
    }
    Ok(have_all)
}
