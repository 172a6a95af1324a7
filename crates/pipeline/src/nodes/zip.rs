//! Zips the rows of several inputs side by side.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::execution::meters::{Stopwatch, enter_stage};
use crate::execution::task::{Outcome, Ring};
use crate::node::{Context, Node, Poll, Position};
use crate::skip_event::SkipEvent;
use headrace_engine::error::{Error, Result};
use headrace_engine::run::catch_panic;
use std::sync::Arc;

/// A node whose row `n` has the columns of row `n` of each input.
pub struct Zip {
    inputs: Vec<Input>,
    /// True if all inputs must end at the same row.
    is_strict: bool,
    ahead: usize,
    position: Position,
    ring: Ring<Outcome>,
    num_rows: u64,
    end: Option<Ending>,
}

enum Ending {
    Over,
    /// An error after all rows before it.
    Failed(Error),
}

struct Input {
    node: Box<dyn Node>,
    rows: Rows,
    state: State,
    /// Reports of rows skipped before its next row.
    skip_events: Vec<SkipEvent>,
}

enum State {
    Open,
    Waits,
    Ended,
    Failed(Error),
}

impl Zip {
    /// Up to `ahead` tasks are begun before their results are requested.
    pub fn new(inputs: Vec<Box<dyn Node>>, is_strict: bool, ahead: usize, position: Position) -> Self {
        let input = |node| Input { node, rows: Rows::new(), state: State::Open, skip_events: Vec::new() };
        let inputs = inputs.into_iter().map(input).collect();
        let ahead = if position.in_step { 1 } else { ahead };
        Self { inputs, is_strict, ahead, position, ring: Ring::new(), num_rows: 0, end: None }
    }

    /// Sets the number of rows before the first rows of the inputs.
    pub fn numbered_from(mut self, num_rows: u64) -> Self {
        self.num_rows = num_rows;
        self
    }

    fn start_tasks(&mut self, context: &mut Context) {
        while self.end.is_none() && self.ring.len() < self.ahead.max(1) {
            self.inputs.iter_mut().for_each(|input| input.fill(context));
            if self.inputs.iter().any(|input| matches!(input.state, State::Waits)) {
                return;
            }
            let num_rows = self.inputs.iter().map(|input| input.rows.len()).min().unwrap_or(0);
            // Skip events before an unwanted row are not reported, since it is not always polled
            // for.
            let is_told = |input: &&mut Input| num_rows > 0 || input.rows.is_empty();
            for skip_event in self.inputs.iter_mut().filter(is_told).flat_map(|input| input.skip_events.drain(..)) {
                self.ring.start(Checkpoint::default()).set(Ok(Outcome::of_skip_event(skip_event)));
            }
            if num_rows == 0 {
                self.end = Some(self.ending());
                return;
            }
            let mean = |input: &Input| input.rows.num_bytes() / input.rows.len().max(1);
            let num_bytes = num_rows * self.inputs.iter().map(mean).sum::<usize>();
            let Some(mut charge) = context.charge(num_bytes, self.ring.is_empty()) else { return };
            let parts: Vec<_> = self.inputs.iter_mut().map(|input| input.rows.take_front(num_rows)).collect();
            let checkpoints: Vec<_> = parts.iter().map(|part| part.checkpoint(0)).collect();
            let slot = self.ring.start(Checkpoint::new([self.num_rows], checkpoints));
            self.num_rows += num_rows as u64;
            let (meters, stage) = (Arc::clone(context.meters), self.position.stage);
            let work = move || {
                let watch = Stopwatch::start_with_processor(meters.stage(stage));
                enter_stage(stage);
                let rows = catch_panic(|| {
                    let block = side_by_side(parts)?;
                    charge.correct(block.held_bytes());
                    Ok(Rows::all(block.charged(charge)).into())
                });
                drop(watch);
                slot.set(rows);
            };
            context.start(self.position.distance, Box::new(work));
        }
    }

    /// The reason for the end: at least one input has ended, and all were polled.
    fn ending(&mut self) -> Ending {
        for input in &mut self.inputs {
            if let State::Failed(_) = input.state
                && let State::Failed(error) = std::mem::replace(&mut input.state, State::Ended)
            {
                return Ending::Failed(error);
            }
        }
        let ended = self.inputs.iter().position(|input| input.rows.is_empty());
        let longer = self.inputs.iter().position(|input| !input.rows.is_empty());
        match (ended, longer) {
            (Some(ended), Some(longer)) if self.is_strict => {
                Ending::Failed(zip_of_unequal(ended, self.num_rows, longer))
            }
            _ => Ending::Over,
        }
    }
}

impl Input {
    /// Polls for rows if there are none.
    fn fill(&mut self, context: &mut Context) {
        while self.rows.is_empty() && matches!(self.state, State::Open | State::Waits) {
            self.state = match self.node.pull(context) {
                Ok(Poll::Ready(rows)) => {
                    self.rows = rows;
                    State::Open
                }
                Ok(Poll::SkipEvent(skip_event)) => {
                    self.skip_events.push(skip_event);
                    State::Open
                }
                Ok(Poll::Pending) => State::Waits,
                Ok(Poll::End) => State::Ended,
                Err(error) => State::Failed(error),
            };
            if matches!(self.state, State::Waits) {
                return;
            }
        }
    }
}

/// The error for an input that ends after `num_rows` rows, and another that continues.
pub fn zip_of_unequal(ended: usize, num_rows: u64, longer: usize) -> Error {
    Error::invalid_argument(format!(
        "zip: pipeline {ended} ends after {num_rows} examples, pipeline {longer} continues, expected equal lengths. Use \
         zip(..., strict=False) to stop with the shortest"
    ))
}

/// The columns of all parts, which have the same number of rows.
fn side_by_side(mut parts: Vec<Rows>) -> Result<Block> {
    let mut columns = Vec::new();
    for part in &parts {
        columns.extend_from_slice(&part.gather()?.columns);
    }
    let first = parts.swap_remove(0);
    Block::new(columns, first.len(), Provenance::of(first)).map(Block::settled)
}

impl Node for Zip {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        self.start_tasks(context);
        if let Some((checkpoint, outcome)) = self.ring.pop() {
            let Outcome { rows, skip_events, .. } = outcome?;
            if !self.position.in_step {
                self.start_tasks(context);
            }
            // A task has rows; otherwise there is a skip event.
            return Ok(match skip_events.into_iter().next() {
                Some((_, skip_event)) => Poll::SkipEvent(skip_event),
                None => Poll::Ready(rows.with_checkpoint(checkpoint)),
            });
        }
        if !self.ring.is_empty() {
            return Ok(Poll::Pending);
        }
        match self.end.replace(Ending::Over) {
            Some(Ending::Failed(error)) => Err(error),
            Some(Ending::Over) => Ok(Poll::End),
            None => {
                self.end = None;
                Ok(Poll::Pending)
            }
        }
    }

    fn catch_up(&mut self, context: &mut Context) -> Result<bool> {
        let mut have_all = true;
        for input in &mut self.inputs {
            have_all &= input.node.catch_up(context)?;
        }
        Ok(have_all)
    }
}
