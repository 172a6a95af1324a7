//! Reads rows by number, in a specified order.

use crate::blocks::block::Block;
use crate::blocks::indexed::Indexed;
use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll, Position};
use crate::nodes::bisect_failures::{Bisectable, bisect_failures, polls};
use crate::row_order::{Draws, RowOrder};
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
    /// An order of the numbers.
    Whole(Arc<RowOrder>),
    /// Part of an order. The rows own the numbers from this one on.
    Part(Arc<RowOrder>, u64),
}

impl Order {
    /// The number of positions in the order for `len` rows.
    fn num_positions(&self, len: u64) -> u64 {
        match self {
            Self::Natural => len,
            Self::Whole(order) | Self::Part(order, _) => order.len(),
        }
    }

    /// The draws, if rows are drawn with replacement.
    fn draws(&self) -> Option<&Draws> {
        match self {
            Self::Natural => None,
            Self::Whole(order) | Self::Part(order, _) => order.draws(),
        }
    }

    /// The average number of positions that contain `num_rows` of the `len` rows.
    fn positions_of(&self, num_rows: u64, len: u64) -> u64 {
        let num_positions = self.num_positions(len);
        if let Some(draws) = self.draws() {
            let first = if let Self::Part(_, first) = self { *first } else { 0 };
            // Division by zero results in infinity, which is limited to all positions.
            let positions = num_rows as f64 / draws.expected_share(first..first + len);
            return (positions as u64).clamp(1, num_positions.max(1));
        }
        ((u128::from(num_rows) * u128::from(num_positions) / u128::from(len.max(1))) as u64).max(1)
    }

    /// The rows at these positions, leaving out numbers that don't belong to the `len` rows.
    fn requested(&self, positions: Range<u64>, len: u64) -> Requested {
        let draws = self.draws().map(|_| positions.clone());
        match self {
            Self::Natural => Requested { numbers: positions.collect(), draws: None },
            Self::Whole(order) => Requested { numbers: order.get_all(positions), draws: draws.map(Iterator::collect) },
            Self::Part(order, first) => {
                let is_own = |number: &u64| (*first..first + len).contains(number);
                let all = order.get_all(positions);
                let draws =
                    draws.map(|draws| draws.zip(&all).filter(|(_, n)| is_own(n)).map(|(draw, _)| draw).collect());
                let numbers = all.into_iter().filter(is_own).map(|number| number - first).collect();
                Requested { numbers, draws }
            }
        }
    }
}

/// Requested rows.
struct Requested {
    numbers: Vec<u64>,
    /// The number of each row's draw, if rows are drawn with replacement.
    draws: Option<Vec<u64>>,
}

impl Requested {
    /// Reads some of the rows. Each draw of a row has its own identity, and therefore its own
    /// random numbers.
    fn read(&self, rows: &dyn Indexed, range: Range<usize>) -> Result<Block> {
        let block = rows.read(&self.numbers[range.clone()])?;
        let Some(draws) = &self.draws else { return Ok(block) };
        let provenance = block.provenance().made_of((0..).zip(draws[range].iter().copied()));
        Ok(block.with_provenance(provenance))
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
/// A batch of at least this size gets its own block.
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
        let block_positions = order.positions_of(rows_within(BLOCK_BYTES, row_bytes) as u64, len);
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

    /// Aligns blocks with the batches that are built from this pass's rows. A large batch has its
    /// own block and need not be copied again; several small ones share a block.
    pub fn in_batches(mut self, batches: Option<Batches>, pass: u64) -> Self {
        let Some(Batches { size, are_across_passes }) = batches else { return self };
        if size == 0 || size > rows_within(MAX_BATCH_BYTES, self.row_bytes) || matches!(self.order, Order::Part(..)) {
            return self;
        }
        let is_large = size > rows_within(MIN_BATCH_BYTES, self.row_bytes);
        let num_batches = if is_large { 1 } else { (self.block_positions / size as u64).max(1) };
        self.block_positions = num_batches * size as u64;
        if are_across_passes {
            self.offset = (u128::from(pass) * u128::from(self.num_positions) % u128::from(self.block_positions)) as u64;
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
            let most_rows = if self.order.draws().is_some() { u64::MAX } else { self.rows.len() };
            let num_rows = (positions.end - positions.start).min(most_rows) as usize;
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
                    let requested = order.requested(positions, rows.len());
                    let (block, skip_events, error) = match position.skipper {
                        Some(skipper) => {
                            let (block, skip_events) = Reading { rows: &*rows, requested, skipper, position }.read()?;
                            (block, skip_events, None)
                        }
                        None => {
                            let (block, error) = read(&*rows, &requested)?;
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

/// Reads the requested rows, up to the first one that cannot be read.
fn read(rows: &dyn Indexed, requested: &Requested) -> Result<(Option<Block>, Option<Error>)> {
    let num_rows = requested.numbers.len();
    if num_rows == 0 {
        return Ok((None, None));
    }
    let error = match requested.read(rows, 0..num_rows) {
        Ok(block) => return Ok((Some(block), None)),
        Err(error) => error,
    };
    for index in 0..num_rows {
        if let Err(error) = requested.read(rows, index..index + 1) {
            let before = match index {
                0 => None,
                _ => Some(requested.read(rows, 0..index)?),
            };
            return Ok((before, Some(error)));
        }
    }
    Err(error)
}

/// Reads some rows and skips the damaged ones.
struct Reading<'a> {
    rows: &'a dyn Indexed,
    requested: Requested,
    skipper: usize,
    position: Position,
}

impl Reading<'_> {
    /// Returns the readable rows, and reports of the others at their positions.
    fn read(mut self) -> Result<(Option<Block>, SkipEvents)> {
        let num_rows = self.requested.numbers.len();
        if num_rows == 0 {
            return Ok((None, Vec::new()));
        }
        let failure = match self.requested.read(self.rows, 0..num_rows) {
            Ok(block) => return Ok((Some(block), Vec::new())),
            Err(error) => error,
        };
        let (good, skip_events) = bisect_failures(&mut self, num_rows, failure)?;
        let block = (!good.is_empty()).then(|| good.copy()).transpose()?;
        Ok((block, skip_events))
    }
}

impl Bisectable for Reading<'_> {
    type Failure = Error;

    fn work(&mut self, range: Range<usize>) -> Result<Block> {
        self.requested.read(self.rows, range)
    }

    fn leave_out(&mut self, row: usize, failure: Error) -> Result<Skipped> {
        if !is_damage(&failure) {
            return Err(failure);
        }
        let row_provenance = self
            .rows
            .row_provenance(self.requested.numbers[row])
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
