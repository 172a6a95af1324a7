//! Combines the rows of several inputs side by side. If a row is skipped in one input, its
//! partners in the other inputs are skipped too.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll, Position};
use crate::nodes::take::skip_first;
use crate::skip_event::{Places, SkipEvent};
use crate::tasks::meters::{Stopwatch, enter_stage};
use crate::tasks::task::{Outcome, Ring};
use headrace_engine::error::{Error, Result};
use headrace_engine::run::catch_panic;
use std::sync::Arc;

/// How to fix an example that `skip_errors` cannot skip together with its partners.
const REMEDY: &str = "skip_errors after zip does not cover this function, because a later stage of its pipeline \
                      reads, drops, repeats or reorders examples, and skipping one could mismatch the others. Call \
                      the function after those stages or after zip, or add skip_errors to the pipeline itself.";

/// A node that combines row `n` of every input into its row `n`.
pub struct Zip {
    inputs: Vec<Input>,
    /// True if all inputs must have the same number of rows.
    is_strict: bool,
    ahead: usize,
    position: Position,
    ring: Ring<Outcome>,
    end: Option<Ending>,
}

enum Ending {
    Over,
    /// An error to return after all earlier rows.
    Failed(Error),
}

struct Input {
    node: Box<dyn Node>,
    rows: Rows,
    /// The position of the first waiting row.
    places: Places,
    state: State,
    /// Reports of rows that were skipped before the next row.
    skip_events: Vec<SkipEvent>,
}

enum State {
    Open,
    Waits,
    Ended,
    Failed(Error),
}

impl Zip {
    /// Creates the inputs and continues from a checkpoint. Begins up to `ahead` tasks before their
    /// results are requested.
    pub fn from_checkpoint(
        from: &Checkpoint,
        num_inputs: usize,
        start: impl Fn((usize, &Checkpoint)) -> Result<Box<dyn Node>>,
        is_strict: bool,
        ahead: usize,
        position: Position,
    ) -> Result<Box<dyn Node>> {
        let [first] = from.numbers()?.unwrap_or_default();
        // If rows may have been skipped since the state, the inputs have returned more rows than
        // this node.
        let skip = if position.skipper.is_some() { 0 } else { from.skip() };
        let places = Places { next: first.saturating_add(skip) };
        let input = |index| {
            let node = start((index, &from.input(index)?.advanced_by(skip)))?;
            Ok(Input { node, rows: Rows::new(), places, state: State::Open, skip_events: Vec::new() })
        };
        let inputs = (0..num_inputs).map(input).collect::<Result<_>>()?;
        let ahead = if position.synchronous { 1 } else { ahead };
        let zip = Self { inputs, is_strict, ahead, position, ring: Ring::new(), end: None };
        Ok(skip_first(Box::new(zip), from.skip() - skip))
    }

    fn start_tasks(&mut self, context: &mut Context) {
        while self.end.is_none() && self.ring.len() < self.ahead.max(1) {
            self.inputs.iter_mut().for_each(|input| input.fill(self.position.skipper, context));
            if self.inputs.iter().any(|input| matches!(input.state, State::Waits)) {
                return;
            }
            if self.drop_partners() {
                continue;
            }
            let num_rows = self.inputs.iter().map(|input| input.rows.len()).min().unwrap_or(0);
            self.report_skipped(num_rows > 0);
            if num_rows == 0 {
                self.end = Some(self.ending());
                return;
            }
            let mean = |input: &Input| input.rows.num_bytes() / input.rows.len().max(1);
            let num_bytes = num_rows * self.inputs.iter().map(mean).sum::<usize>();
            let Some(mut charge) = context.charge(num_bytes, self.ring.is_empty()) else { return };
            let parts: Vec<_> = self.inputs.iter_mut().map(|input| input.rows.take_front(num_rows)).collect();
            let checkpoints: Vec<_> = parts.iter().map(|part| part.checkpoint(0)).collect();
            let place = self.inputs.first().map(|input| input.places.next);
            let slot = self.ring.start(Checkpoint::new(place, checkpoints));
            self.inputs.iter_mut().for_each(|input| input.places.add(num_rows));
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

    /// Drops rows whose partner in another input was skipped. Returns whether there were any.
    fn drop_partners(&mut self) -> bool {
        let next = self.inputs.iter().map(|input| input.places.next).max().unwrap_or(0);
        let mut has_dropped = false;
        for input in &mut self.inputs {
            let num_partners = usize::try_from(next - input.places.next).unwrap_or(usize::MAX);
            let dropped = input.rows.take_front(num_partners);
            input.places.add(dropped.len());
            has_dropped |= !dropped.is_empty();
        }
        has_dropped
    }

    /// Returns the reports of rows skipped before the next rows. Reports of rows after the end are
    /// dropped, because the inputs are not always polled that far.
    fn report_skipped(&mut self, has_rows: bool) {
        let ended = self.inputs.iter().filter(|input| input.rows.is_empty()).map(|input| input.places.next);
        let end = ended.min().unwrap_or(u64::MAX);
        for input in &mut self.inputs {
            let is_whole = has_rows || input.rows.is_empty();
            for event in input.skip_events.drain(..) {
                if is_whole && event.place(self.position.skipper).is_none_or(|place| place < end) {
                    self.ring.start(Checkpoint::default()).set(Ok(Outcome::of_skip_event(event)));
                }
            }
        }
    }

    /// Adds a remedy to an input's error if `skip_errors` follows.
    fn uncovered(&self, error: Error) -> Error {
        let is_known = error.remedy().is_some_and(|remedy| remedy == REMEDY);
        if self.position.skipper.is_none() || is_known { error } else { error.with_remedy(REMEDY) }
    }

    /// Determines why the node ends. At least one input has ended, and all have been polled.
    fn ending(&mut self) -> Ending {
        for input in &mut self.inputs {
            if let State::Failed(_) = input.state
                && let State::Failed(error) = std::mem::replace(&mut input.state, State::Ended)
            {
                return Ending::Failed(self.uncovered(error));
            }
        }
        let lengths = || self.inputs.iter().map(|input| input.places.next + u64::from(!input.rows.is_empty()));
        let shortest = lengths().enumerate().min_by_key(|(_, length)| *length);
        match shortest {
            Some((ended, length)) if self.is_strict => match lengths().position(|other| other > length) {
                Some(longer) => Ending::Failed(zip_of_unequal(ended, length, longer)),
                None => Ending::Over,
            },
            _ => Ending::Over,
        }
    }
}

impl Input {
    /// Polls for rows if none are waiting. Rows skipped by `skipper` count too.
    fn fill(&mut self, skipper: Option<usize>, context: &mut Context) {
        while self.rows.is_empty() && matches!(self.state, State::Open | State::Waits) {
            self.state = match self.node.pull(context) {
                Ok(Poll::Ready(rows)) => {
                    self.rows = rows;
                    State::Open
                }
                Ok(Poll::SkipEvent(skip_event)) => {
                    self.places.add_event(&skip_event, skipper);
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

/// The error if one input ends after `num_rows` rows and another one continues.
pub fn zip_of_unequal(ended: usize, num_rows: u64, longer: usize) -> Error {
    Error::invalid_argument(format!(
        "zip: pipeline {ended} ends after {num_rows} examples, pipeline {longer} continues, expected equal lengths. Use \
         zip(..., strict=False) to stop with the shortest"
    ))
}

/// Combines the columns of all parts, which must have the same number of rows.
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
            if !self.position.synchronous {
                self.start_tasks(context);
            }
            // A task has either rows or a skip event.
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

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        let mut have_all = true;
        for input in &mut self.inputs {
            have_all &= input.node.replay_skipped(context)?;
        }
        Ok(have_all)
    }
}
