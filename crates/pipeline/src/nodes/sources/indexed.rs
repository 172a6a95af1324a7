//! Reads rows by number, in a specified order.

use crate::blocks::block::Block;
use crate::blocks::indexed::Indexed;
use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll, Position};
use crate::nodes::bisect_failures::{Bisectable, bisect_failures, polls};
use crate::permutation::Permutation;
use crate::skip_event::{SkipEvents, Skipped, is_damage};
use crate::tasks::meters::{Stopwatch, enter_stage};
use crate::tasks::task::{Outcome, Ring};
use headrace_engine::error::{Error, Result};
use headrace_engine::run::catch_panic;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The order in which rows are requested.
#[derive(Clone)]
pub enum Order {
    /// In ascending order.
    Natural,
    /// A permutation of the numbers.
    Permuted(Arc<Permutation>),
    /// Part of a permutation. The rows own the numbers from this one on.
    Part(Arc<Permutation>, u64),
}

impl Order {
    /// The number of positions in the order for `len` rows.
    fn num_positions(&self, len: u64) -> u64 {
        match self {
            Self::Natural => len,
            Self::Permuted(order) | Self::Part(order, _) => order.len(),
        }
    }

    /// The row numbers at these positions, leaving out numbers that don't belong to the `len` rows.
    fn numbers(&self, positions: Range<u64>, len: u64) -> Vec<u64> {
        match self {
            Self::Natural => positions.collect(),
            Self::Permuted(order) => order.get_all(positions),
            Self::Part(order, first) => {
                let number = |number: u64| number.checked_sub(*first).filter(|number| *number < len);
                order.get_all(positions).into_iter().filter_map(number).collect()
            }
        }
    }
}

/// Fixed-size batches that are built from these rows. If blocks and batches begin and end together,
/// a copy is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// The number of rows in a batch.
    pub size: usize,
    /// True if a batch may contain rows of two passes.
    pub are_across_passes: bool,
}

/// The approximate size of a block.
const BLOCK_BYTES: usize = 256 * 1024;
const MAX_BLOCK_ROWS: usize = 4096;
/// A batch of at least this size gets a block of its own.
const MIN_BATCH_BYTES: usize = 64 * 1024;
/// A larger batch is split into several blocks, so that several workers can read it.
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// The number of rows of `row_bytes` each that fit into a block of `num_bytes`.
fn rows_within(num_bytes: usize, row_bytes: usize) -> usize {
    (num_bytes / row_bytes.max(1)).clamp(1, MAX_BLOCK_ROWS)
}

/// A node that reads rows by number.
pub struct IndexedRows {
    rows: Arc<dyn Indexed>,
    order: Order,
    next: u64,
    num_positions: u64,
    /// The number of positions per task.
    block_positions: u64,
    /// Blocks end where the position plus this offset is a multiple of the block's positions.
    offset: u64,
    row_bytes: usize,
    ahead: usize,
    position: Position,
    ring: Ring<Outcome>,
    /// An error to return after the rows before it.
    error: Option<Error>,
    /// Results of a task that have not been returned yet.
    ready: VecDeque<Poll>,
}

impl IndexedRows {
    /// Reads up to `ahead` blocks before they are requested.
    pub fn new(rows: Arc<dyn Indexed>, order: Order, ahead: usize, position: Position) -> Self {
        let (len, row_bytes) = (rows.len(), rows.row_bytes());
        let num_positions = order.num_positions(len);
        let block_rows = rows_within(BLOCK_BYTES, row_bytes) as u128;
        // The average number of positions that contain this many rows.
        let block_positions = (block_rows * u128::from(num_positions) / u128::from(len.max(1))) as u64;
        let block_positions = block_positions.max(1);
        let (ring, error, ready) = (Ring::new(), None, VecDeque::new());
        Self {
            rows,
            order,
            next: 0,
            num_positions,
            block_positions,
            offset: 0,
            row_bytes,
            ahead,
            position,
            ring,
            error,
            ready,
        }
    }

    /// Aligns blocks with the batches that are built from this pass's rows. A large batch is a
    /// block of its own and need not be copied again; several small ones share a block.
    pub fn in_batches(mut self, batches: Option<Batches>, pass: u64) -> Self {
        let Some(Batches { size, are_across_passes }) = batches else { return self };
        if size == 0 || size > rows_within(MAX_BATCH_BYTES, self.row_bytes) || matches!(self.order, Order::Part(..)) {
            return self;
        }
        let is_large = size > rows_within(MIN_BATCH_BYTES, self.row_bytes);
        let num_batches = if is_large { 1 } else { (self.block_positions / size as u64).max(1) };
        self.block_positions = num_batches * size as u64;
        if are_across_passes {
            self.offset = (u128::from(pass) * u128::from(self.rows.len()) % u128::from(self.block_positions)) as u64;
        }
        self
    }

    /// If `in_any_order`, returns blocks as soon as they are finished.
    pub fn in_any_order(mut self, in_any_order: bool) -> Self {
        self.ring = Ring::in_any_order(in_any_order);
        self
    }

    /// Continues from a checkpoint.
    pub fn from_checkpoint(mut self, checkpoint: &Checkpoint) -> Result<Self> {
        let [next] = checkpoint.numbers()?.unwrap_or_default();
        self.next = next;
        Ok(self)
    }

    fn start_tasks(&mut self, context: &mut Context) {
        while self.next < self.num_positions && self.ring.len() < self.ahead.max(1) && self.error.is_none() {
            let rest = self.block_positions - (self.offset + self.next) % self.block_positions;
            let positions = self.next..self.num_positions.min(self.next.saturating_add(rest));
            let num_rows = (positions.end - positions.start).min(self.rows.len()) as usize;
            let num_bytes = self.row_bytes.saturating_mul(num_rows.min(MAX_BLOCK_ROWS));
            let Some(mut charge) = context.charge(num_bytes, self.ring.is_empty()) else { return };
            self.next = positions.end;
            let slot = self.ring.start(Checkpoint::new([positions.start], []));
            let (rows, order) = (Arc::clone(&self.rows), self.order.clone());
            let (meters, position) = (Arc::clone(context.meters), self.position);
            let work = move || {
                let meter = meters.stage(position.stage);
                let watch = Stopwatch::start_with_processor(meter);
                enter_stage(position.stage);
                let read = || {
                    let numbers = order.numbers(positions, rows.len());
                    let (block, skip_events, error) = match position.skipper {
                        Some(skipper) => {
                            let (block, skip_events) = Reading { rows: &*rows, numbers, skipper, position }.read()?;
                            (block, skip_events, None)
                        }
                        None => {
                            let (block, error) = read(&*rows, &numbers)?;
                            (block, Vec::new(), error)
                        }
                    };
                    let Some(block) = block else {
                        return Ok(Outcome { skip_events, ..Outcome::new(Rows::new(), error) });
                    };
                    let num_bytes = block.num_bytes();
                    meter.inspect(|meter| meter.count(0, rows.counted_bytes(&block)));
                    let provenance = block.provenance().in_pass(position.pass);
                    let block = block.with_provenance(provenance);
                    // Records are kept with their framing.
                    let frames = rows.row_bytes().saturating_mul(block.num_rows()).saturating_sub(num_bytes);
                    charge.correct(block.held_bytes().saturating_add(frames));
                    Ok(Outcome { skip_events, ..Outcome::new(Rows::all(block.charged(charge)), error) })
                };
                let outcome = catch_panic(read);
                drop(watch);
                slot.set(outcome);
            };
            context.start(self.position.distance, Box::new(work));
        }
    }
}

/// Reads the rows with these numbers, up to the first one that cannot be read.
fn read(rows: &dyn Indexed, numbers: &[u64]) -> Result<(Option<Block>, Option<Error>)> {
    if numbers.is_empty() {
        return Ok((None, None));
    }
    let error = match rows.read(numbers) {
        Ok(block) => return Ok((Some(block), None)),
        Err(error) => error,
    };
    for (index, number) in numbers.iter().enumerate() {
        if let Err(error) = rows.read(&[*number]) {
            let before = match index {
                0 => None,
                _ => Some(rows.read(&numbers[..index])?),
            };
            return Ok((before, Some(error)));
        }
    }
    Err(error)
}

/// Reads some rows and skips the damaged ones.
struct Reading<'a> {
    rows: &'a dyn Indexed,
    numbers: Vec<u64>,
    skipper: usize,
    position: Position,
}

impl Reading<'_> {
    /// Returns the readable rows, and reports of the others at their positions.
    fn read(mut self) -> Result<(Option<Block>, SkipEvents)> {
        if self.numbers.is_empty() {
            return Ok((None, Vec::new()));
        }
        let failure = match self.rows.read(&self.numbers) {
            Ok(block) => return Ok((Some(block), Vec::new())),
            Err(error) => error,
        };
        let num_rows = self.numbers.len();
        let (good, skip_events) = bisect_failures(&mut self, num_rows, failure)?;
        let block = (!good.is_empty()).then(|| good.copy()).transpose()?;
        Ok((block, skip_events))
    }
}

impl Bisectable for Reading<'_> {
    type Failure = Error;

    fn work(&mut self, range: Range<usize>) -> Result<Block> {
        self.rows.read(&self.numbers[range])
    }

    fn leave_out(&mut self, row: usize, failure: Error) -> Result<Skipped> {
        if !is_damage(&failure) {
            return Err(failure);
        }
        let row_provenance = self
            .rows
            .row_provenance(self.numbers[row])
            .map(|row_provenance| row_provenance.in_pass(self.position.pass));
        Ok(Skipped::row(self.skipper, self.position.stage, row_provenance, failure))
    }
}

impl Node for IndexedRows {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if let Some(poll) = self.ready.pop_front() {
                return Ok(poll);
            }
            self.start_tasks(context);
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            match self.ring.pop() {
                Some((checkpoint, outcome)) => {
                    let Outcome { rows, skip_events, error, .. } = outcome?;
                    self.error = error;
                    self.start_tasks(context);
                    self.ready.extend(polls(rows, skip_events, checkpoint));
                }
                None if self.ring.is_empty() && self.next >= self.num_positions => return Ok(Poll::End),
                None => return Ok(Poll::Pending),
            }
        }
    }
}
