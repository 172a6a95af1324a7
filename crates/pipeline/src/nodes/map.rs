//! Maps rows in parallel and returns the results in row order.

use crate::blocks::block::{Block, RowProvenance};
use crate::blocks::rows::Rows;
use crate::budget::Charge;
use crate::checkpoint::Checkpoint;
use crate::function_states::FunctionState;
use crate::node::{Context, Ended, Node, Poll, Position};
use crate::nodes::bisect_failures::{Bisectable, bisect_failures, polls};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use crate::skip_event::{Places, SkipEvent, SkipEvents, Skipped, is_of_example};
use crate::stages::Stage;
use crate::tasks::meters::{Meter, Meters, Stopwatch, enter_stage};
use crate::tasks::size_estimate::SizeEstimate;
use crate::tasks::task::{Outcome, PythonTask, Ring};
use headrace_engine::error::{Error, Result};
use headrace_engine::run::catch_panic;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Where the work is done.
#[derive(Clone)]
pub enum Worker {
    /// In the native thread pool: runs these stages in order, then gathers the rows into one block.
    Pool(Arc<[Arc<dyn Stage>]>),
    /// Calls run in Python threads, each with its own task.
    Python {
        /// The number of the Python worker.
        python_worker: usize,
        /// True if it produces one row per input row and keeps no state.
        is_one_to_one: bool,
        /// The number of threads that work on its tasks concurrently.
        num_callers: usize,
        /// The number of functions it calls in sequence.
        num_functions: usize,
        /// True if the functions run in worker processes.
        in_processes: bool,
        /// True if the function runs faster on many rows at a time.
        in_groups: bool,
    },
}

impl Worker {
    /// Returns true if it produces one row per input row or per input batch. Rows can then be
    /// skipped before the work is done.
    pub fn is_one_to_one(&self) -> bool {
        match self {
            Self::Pool(stages) => stages.iter().all(|stage| stage.is_one_to_one()),
            // A function that keeps a state must see the same rows again.
            Self::Python { is_one_to_one, .. } => *is_one_to_one,
        }
    }
}

/// A node that maps rows.
pub struct Map {
    input: Input,
    /// Input rows that are not in a task yet.
    waiting: Rows,
    /// A report of input rows that were skipped after the waiting rows.
    waiting_event: Option<SkipEvent>,
    worker: Worker,
    /// The number of tasks to begin before their results are requested.
    ahead: usize,
    position: Position,
    /// Since when the input has had no rows while no task was running.
    starving_since: Option<Instant>,
    ring: Ring<Outcome>,
    /// The position of the first waiting row, if failures are skipped.
    places: Places,
    size_estimate: SizeEstimate,
    /// The state of a Python worker's function.
    state: FunctionState,
    /// Results of a task that have not been returned yet.
    ready: VecDeque<Poll>,
    /// The row counts that the input reported at its end.
    ended: Option<Ended>,
}

enum Input {
    Open(Box<dyn Node>),
    Ended,
    /// An error to return after the results of all earlier rows.
    Failed(Error),
}

impl Map {
    /// The properties of a step with this worker.
    pub const fn facts(is_one_to_one: bool, python_worker: Option<usize>) -> StepFacts {
        StepFacts {
            is_one_to_one,
            is_row_wise: true,
            python_worker,
            keeps_pieces: true,
            is_cache: false,
            may_end_early: false,
            shards: RowShards::OfInput,
            batches: BatchesOfInput::OfOutput,
        }
    }

    /// Creates a node that begins up to `ahead` tasks before their results are requested.
    pub fn new(input: Box<dyn Node>, worker: Worker, ahead: usize, position: Position) -> Self {
        let (input, ring) = (Input::Open(input), Ring::new());
        let (waiting, size_estimate) = (Rows::new(), SizeEstimate::default());
        let ahead = match worker {
            Worker::Python { num_callers, .. } if num_callers > 1 => ahead.max(num_callers.saturating_mul(2)),
            _ => ahead.max(1),
        };
        Self {
            input,
            waiting,
            waiting_event: None,
            worker,
            ahead: if position.synchronous { 1 } else { ahead },
            position,
            starving_since: None,
            ring,
            places: Places::default(),
            size_estimate,
            state: FunctionState::default(),
            ready: VecDeque::new(),
            ended: None,
        }
    }

    /// Sets the position of the first input row.
    pub fn numbered_from(mut self, place: u64) -> Self {
        self.places = Places { next: place };
        self
    }

    /// Sets the function state of the Python worker before its first task.
    pub fn with_state(mut self, state: FunctionState) -> Self {
        self.state = state;
        self
    }

    /// Sets a size estimate that is shared with other passes.
    pub fn with_size_estimate(mut self, size_estimate: SizeEstimate) -> Self {
        self.size_estimate = size_estimate;
        self
    }

    /// If `in_any_order`, returns results as soon as they are finished.
    pub fn in_any_order(mut self, in_any_order: bool) -> Self {
        self.ring = Ring::in_any_order(in_any_order);
        self
    }

    /// Starts as many tasks as possible.
    fn start_tasks(&mut self, context: &mut Context) -> Result<()> {
        while self.ring.len() < self.ahead && self.fill(context) {
            let (num_rows, num_bytes) = self.next_part(context.budget.room_bytes());
            let scratch_bytes = self.size_estimate.scratch_bytes();
            // The estimate may exceed the limit. The task then runs alone.
            let num_bytes = num_bytes.saturating_add(scratch_bytes).min(context.budget.room_bytes());
            let Some(charge) = context.charge(num_bytes, self.ring.is_empty()) else { return Ok(()) };
            self.note_start(context.meters);
            let rows = self.waiting.take_front(num_rows);
            self.start(rows, charge, scratch_bytes, context)?;
        }
        Ok(())
    }

    /// Polls until there are enough rows for a task. Returns whether a task should start now.
    fn fill(&mut self, context: &mut Context) -> bool {
        loop {
            if self.waiting.is_empty()
                && let Some(skip_event) = self.waiting_event.take()
            {
                // The event keeps its position among the results.
                self.places.add_event(&skip_event, self.position.skipper);
                self.ring.start(Checkpoint::default()).set(Ok(Outcome::of_skip_event(skip_event)));
                if self.ring.len() >= self.ahead {
                    return false;
                }
            }
            if self.waiting_event.is_some() || self.waiting.len() >= self.enough_rows(context.budget.room_bytes()) {
                return true;
            }
            let Input::Open(input) = &mut self.input else { return !self.waiting.is_empty() };
            match input.pull(context) {
                Ok(Poll::Ready(rows)) if self.waiting.is_empty() => self.waiting = rows,
                Ok(Poll::Ready(rows)) => self.waiting.append(&rows),
                Ok(Poll::SkipEvent(skip_event)) => self.waiting_event = Some(skip_event),
                Ok(Poll::Pending) => {
                    if self.ring.is_empty() && self.waiting.is_empty() {
                        self.starving_since.get_or_insert_with(Instant::now);
                    }
                    // More rows will arrive while the threads are still busy.
                    return !self.waiting.is_empty() && self.ring.len() < self.num_callers();
                }
                Ok(Poll::End) => {
                    self.ended = input.ended();
                    self.input = Input::Ended;
                }
                Err(error) => self.input = Input::Failed(error),
            }
        }
    }

    /// The number of rows at which a task starts even if the input has more.
    fn enough_rows(&self, limit_bytes: usize) -> usize {
        match self.worker {
            Worker::Python { in_processes: true, .. } if !self.position.synchronous => {
                self.size_estimate.rows_of_message(&self.waiting, SizeEstimate::target_bytes_of_call(limit_bytes))
            }
            Worker::Python { in_groups: true, num_callers, .. } if !self.position.synchronous => {
                self.size_estimate.rows_of_group(SizeEstimate::target_bytes_of_group(limit_bytes, num_callers))
            }
            _ => 1,
        }
    }

    fn num_callers(&self) -> usize {
        match self.worker {
            Worker::Python { num_callers, .. } => num_callers,
            Worker::Pool(_) => 1,
        }
    }

    /// Returns true if rows that arrived together may be split between tasks.
    fn is_row_wise(&self) -> bool {
        match &self.worker {
            Worker::Pool(stages) => stages.iter().all(|stage| stage.is_row_wise()),
            Worker::Python { .. } => true,
        }
    }

    /// Returns the checkpoint for the result of a task, given the input's checkpoint. If failures
    /// are skipped, it has one level per function, as if each function had its own node.
    fn checkpoint(&self, input: Checkpoint) -> Checkpoint {
        let num_levels = match (&self.worker, self.position.skipper) {
            (Worker::Python { num_functions, .. }, Some(_)) => *num_functions,
            _ => usize::from(!self.worker.is_one_to_one() || self.position.skipper.is_some()),
        };
        let place = self.position.skipper.map(|_| self.places.next);
        (0..num_levels).fold(input, |input, _| Checkpoint::new(place, [input]))
    }

    /// Returns the number of waiting rows for the next task, and the estimated size of its result.
    fn next_part(&self, limit_bytes: usize) -> (usize, usize) {
        match (self.is_row_wise(), self.size_estimate.task_bytes()) {
            (true, _) if self.position.synchronous => (1, self.size_estimate.bytes_of(1, &self.waiting)),
            (true, _) => {
                let num_rows = match self.worker {
                    Worker::Python { in_processes: true, .. } => self.enough_rows(limit_bytes).min(self.waiting.len()),
                    Worker::Python { in_groups: true, num_callers, .. } => {
                        let (num_rows, num_waiting) = (self.enough_rows(limit_bytes), self.waiting.len());
                        // The last rows are divided between the threads.
                        if num_rows <= num_waiting { num_rows } else { num_waiting.div_ceil(num_callers.max(1)) }
                    }
                    Worker::Python { num_callers, .. } => {
                        let target_bytes = SizeEstimate::target_bytes_of_call(limit_bytes);
                        self.size_estimate.part_for(num_callers, &self.waiting, target_bytes)
                    }
                    Worker::Pool(_) => {
                        self.size_estimate.part_of(&self.waiting, SizeEstimate::target_bytes(limit_bytes))
                    }
                };
                (num_rows, self.size_estimate.bytes_of(num_rows, &self.waiting))
            }
            (false, Some(num_bytes)) => (self.waiting.len(), num_bytes),
            (false, None) => (self.waiting.len(), self.size_estimate.bytes_of(self.waiting.len(), &self.waiting)),
        }
    }

    fn start(&mut self, rows: Rows, mut charge: Charge, scratch_bytes: usize, context: &mut Context) -> Result<()> {
        let (slot, size_estimate) = (self.ring.start(self.checkpoint(rows.checkpoint(0))), self.size_estimate.clone());
        // Work that isn't row-wise combines them into one row.
        self.places.add(if self.is_row_wise() { rows.len() } else { 1 });
        let stages = match &self.worker {
            Worker::Pool(stages) => Arc::clone(stages),
            Worker::Python { python_worker, .. } => {
                let target_bytes = SizeEstimate::target_bytes(context.budget.room_bytes());
                let Position { stage, skipper, .. } = self.position;
                let state = self.state.clone();
                let scratch_bytes = scratch_bytes.min(charge.num_bytes());
                let task = PythonTask {
                    rows,
                    pass: 0,
                    first: 0,
                    state,
                    stage,
                    charge,
                    scratch_bytes,
                    target_bytes,
                    size_estimate,
                    skipper,
                    slot,
                };
                return context.start_python(*python_worker, task);
            }
        };
        let (meters, position) = (Arc::clone(context.meters), self.position);
        let work = move || {
            let watch = Stopwatch::start_with_processor(Some(&meters.tasks));
            let result = catch_panic(|| {
                let num_rows = rows.len();
                let work = Work { stages: &stages, rows, meters: &meters, position };
                let Applied { block, skip_events, error } = work.apply()?;
                charge.correct(block.held_bytes());
                size_estimate.add(num_rows, block.held_bytes());
                Ok(Outcome { skip_events, ..Outcome::new(Rows::all(block.charged(charge)), error) })
            });
            drop(watch);
            slot.set(result);
        };
        context.start(self.position.distance, Box::new(work));
        Ok(())
    }

    /// Records the start of a task in the meters.
    fn note_start(&mut self, meters: &Meters) {
        let Some(meter) = meters.stage(self.position.stage) else { return };
        meter.note_fill(self.ring.len(), self.ahead);
        if let Some(since) = self.starving_since.take() {
            meter.starving.add(since.elapsed());
        }
    }
}

/// The stages of a task, and its rows.
struct Work<'a> {
    stages: &'a [Arc<dyn Stage>],
    rows: Rows,
    meters: &'a Meters,
    position: Position,
}

/// The rows after all stages, as a block with a single owner.
struct Applied {
    block: Block,
    /// Reports of the skipped rows.
    skip_events: SkipEvents,
    /// The error of the row that follows the block.
    error: Option<Error>,
}

/// An error, and the number of the stage that raised it, if the stage is measured.
type Failure = (Error, Option<usize>);

impl Work<'_> {
    /// Runs the stages. If a row fails, row-wise stages still return the rows before it. If
    /// failures may be skipped, only the failing rows are left out.
    fn apply(mut self) -> Result<Applied> {
        let failure = match self.apply_to(self.rows.clone()) {
            Ok(block) => return Ok(Applied { block, skip_events: Vec::new(), error: None }),
            Err(failure) => failure,
        };
        let is_row_wise = self.stages.iter().all(|stage| stage.is_row_wise());
        match (is_row_wise, self.position.skipper) {
            (true, None) => self.apply_before_error(failure.0),
            (false, None) => Err(failure.0),
            (_, Some(_)) => {
                let num_parts = if is_row_wise { self.rows.len() } else { 1 };
                let (good, skip_events) = bisect_failures(&mut self, num_parts, failure)?;
                Ok(Applied { block: good.copy()?, skip_events, error: None })
            }
        }
    }

    /// Returns the rows before the first one that fails.
    fn apply_before_error(mut self, error: Error) -> Result<Applied> {
        let mut good = Rows::new();
        let mut met = None;
        while met.is_none() && !self.rows.is_empty() {
            let row = self.rows.take_front(1);
            match self.apply_to(row) {
                Ok(block) => good.append(&Rows::all(block)),
                Err((error, _)) => met = Some(error),
            }
        }
        match good.is_empty() {
            true => Err(met.unwrap_or(error)),
            false => Ok(Applied { block: good.copy()?, skip_events: Vec::new(), error: met.or(Some(error)) }),
        }
    }

    /// Runs the stages and measures them if none fails.
    fn apply_to(&self, mut rows: Rows) -> std::result::Result<Block, Failure> {
        let mut counts: SmallVec<[(&Meter, usize, usize); 8]> = SmallVec::new();
        for stage in self.stages {
            let group = rows.group().cloned();
            let meter = stage.number().and_then(|number| self.meters.stage(number));
            stage.number().inspect(|number| enter_stage(*number));
            let watch = match stage.waits_for_storage() {
                true => Stopwatch::start_with_processor(meter),
                false => Stopwatch::start(meter),
            };
            rows = stage.apply(rows).map_err(|error| (error, stage.number()))?.in_group(group);
            drop(watch);
            // The combined rows were already measured one by one.
            let num_rows = if stage.is_row_wise() { rows.len() } else { 0 };
            counts.extend(meter.map(|meter| (meter, num_rows, rows.num_bytes())));
        }
        let block = rows.gather().map_err(|error| (error, None))?;
        drop(rows);
        counts.iter().for_each(|(meter, num_rows, num_bytes)| meter.count(*num_rows, *num_bytes));
        Ok(Arc::try_unwrap(block).unwrap_or_else(|shared| shared.share()).settled())
    }

    /// The provenance of row `row`, or of the batch if the rows form one.
    fn row_provenance(&self, row: usize) -> Option<RowProvenance> {
        match self.rows.group() {
            Some(group) => Some(RowProvenance { file: Arc::clone(&group.file), record: group.number, sub: 0 }),
            None => self.rows.row_provenance(row),
        }
    }
}

impl Bisectable for Work<'_> {
    type Failure = Failure;

    fn work(&mut self, range: Range<usize>) -> std::result::Result<Block, Failure> {
        let mut rows = self.rows.clone();
        rows.take_front(range.start);
        self.apply_to(rows.take_front(range.len()))
    }

    fn leave_out(&mut self, row: usize, (error, stage): Failure) -> Result<Skipped> {
        match self.position.skipper.filter(|_| is_of_example(&error)) {
            Some(skipper) => {
                let stage = stage.unwrap_or(self.position.stage);
                Ok(Skipped::row(skipper, stage, self.row_provenance(row), error))
            }
            None => Err(error),
        }
    }
}

/// Sets the positions of the rows that a task skipped. `first` is the position of its first row.
fn set_places(skip_events: &mut SkipEvents, first: u64) {
    for (number, (num_rows, event)) in skip_events.iter_mut().enumerate() {
        if let SkipEvent::Skipped(skipped) = event {
            skipped.place = Some(first + (*num_rows + number) as u64);
        }
    }
}

impl Node for Map {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if let Some(poll) = self.ready.pop_front() {
                return Ok(poll);
            }
            // The previous nodes may take a while to produce rows for the started tasks.
            let mut result = if context.is_starving { self.ring.pop() } else { None };
            if result.is_none() {
                self.start_tasks(context)?;
                result = self.ring.pop();
            }
            let Some((checkpoint, result)) = result else { break };
            let Outcome { rows, mut skip_events, error, state } = result?;
            if self.position.skipper.is_some()
                && let Some([place]) = checkpoint.numbers()?
            {
                set_places(&mut skip_events, place);
            }
            if let Some(error) = error {
                self.input = Input::Failed(error);
                (self.waiting, self.waiting_event) = (Rows::new(), None);
                if !self.ring.is_in_any_order() {
                    self.ring = Ring::new();
                }
            }
            self.ready.extend(polls(rows, skip_events, checkpoint.with_text(state)));
        }
        // The waiting rows did not fit into the budget.
        if !self.ring.is_empty() || !self.waiting.is_empty() {
            return Ok(Poll::Pending);
        }
        match std::mem::replace(&mut self.input, Input::Ended) {
            Input::Failed(error) => Err(error),
            Input::Ended => Ok(Poll::End),
            open @ Input::Open(_) => {
                self.input = open;
                Ok(Poll::Pending)
            }
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        match &mut self.input {
            Input::Open(input) => input.replay_skipped(context),
            Input::Ended | Input::Failed(_) => Ok(true),
        }
    }

    fn ended(&self) -> Option<Ended> {
        self.ended
    }
}
