//! Rows that can be had by their numbers, in a given order.

use crate::error::{Error, Result};
use crate::pipeline::block::Block;
use crate::pipeline::mark::Mark;
use crate::pipeline::meters::Stopwatch;
use crate::pipeline::node::{Context, Node, Poll, Position};
use crate::pipeline::permutation::Permutation;
use crate::pipeline::rows::Rows;
use crate::pipeline::task::{Outcome, Ring};
use crate::run::catch_panic;
use std::ops::Range;
use std::sync::Arc;

/// Rows that can be had in any order.
pub trait Indexed: Send + Sync {
    /// How many rows there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of these numbers, in this order.
    fn read(&self, numbers: &[u64]) -> Result<Block>;

    /// How many bytes a row has, roughly.
    fn row_bytes(&self) -> usize;
}

/// The order in which rows are wanted.
#[derive(Clone)]
pub enum Order {
    /// That of their numbers.
    Natural,
    /// That of a permutation of their numbers.
    Permuted(Arc<Permutation>),
    /// They are a part of what is permuted: those from this number on.
    Part(Arc<Permutation>, u64),
}

impl Order {
    /// How many places there are, of `len` rows.
    fn num_places(&self, len: u64) -> u64 {
        match self {
            Self::Natural => len,
            Self::Permuted(order) | Self::Part(order, _) => order.len(),
        }
    }

    /// The numbers of those of `len` rows that come at these places.
    fn numbers(&self, places: Range<u64>, len: u64) -> Vec<u64> {
        match self {
            Self::Natural => places.collect(),
            Self::Permuted(order) => places.map(|place| order.get(place)).collect(),
            Self::Part(order, first) => {
                let number = |place| order.get(place).checked_sub(*first).filter(|number| *number < len);
                places.filter_map(number).collect()
            }
        }
    }
}

/// Blocks are of this size, roughly.
const BLOCK_BYTES: usize = 256 * 1024;
const MAX_BLOCK_ROWS: usize = 4096;

/// The node.
pub struct Sampled {
    rows: Arc<dyn Indexed>,
    order: Order,
    next: u64,
    num_places: u64,
    /// How many places a task does.
    block_places: u64,
    row_bytes: usize,
    ahead: usize,
    position: Position,
    ring: Ring<Outcome>,
    /// Comes after the rows before it.
    error: Option<Error>,
}

impl Sampled {
    /// Up to `ahead` blocks are read before they are wanted.
    pub fn new(rows: Arc<dyn Indexed>, order: Order, ahead: usize, position: Position) -> Self {
        let (len, row_bytes) = (rows.len(), rows.row_bytes());
        let num_places = order.num_places(len);
        let block_rows = (BLOCK_BYTES / row_bytes.max(1)).clamp(1, MAX_BLOCK_ROWS) as u128;
        // So many places have so many rows, on average.
        let block_places = (block_rows * u128::from(num_places) / u128::from(len.max(1))) as u64;
        let block_places = block_places.max(1);
        let (ring, error) = (Ring::new(), None);
        Self { rows, order, next: 0, num_places, block_places, row_bytes, ahead, position, ring, error }
    }

    /// With `in_any_order`, blocks come as soon as they are there.
    pub fn in_any_order(mut self, in_any_order: bool) -> Self {
        self.ring = Ring::in_any_order(in_any_order);
        self
    }

    /// From a mark on.
    pub fn from_mark(mut self, mark: &Mark) -> Result<Self> {
        let [place] = mark.numbers()?.unwrap_or_default();
        self.next = place;
        Ok(self)
    }

    fn start_tasks(&mut self, context: &mut Context) {
        while self.next < self.num_places && self.ring.len() < self.ahead.max(1) && self.error.is_none() {
            let places = self.next..self.num_places.min(self.next.saturating_add(self.block_places));
            let num_rows = (places.end - places.start).min(self.rows.len()) as usize;
            let num_bytes = self.row_bytes.saturating_mul(num_rows.min(MAX_BLOCK_ROWS));
            let Some(mut charge) = context.charge(num_bytes, self.ring.is_empty()) else { return };
            self.next = places.end;
            let slot = self.ring.start(Mark::new([places.start], []));
            let (rows, order) = (Arc::clone(&self.rows), self.order.clone());
            let (meters, position) = (Arc::clone(context.meters), self.position);
            let work = move || {
                let meter = meters.stage(position.stage);
                let watch = Stopwatch::start_with_processor(meter);
                let read = || {
                    let (block, error) = read(&*rows, &order.numbers(places, rows.len()))?;
                    let Some(block) = block else { return Ok(Outcome::new(Rows::new(), error)) };
                    let num_bytes = block.num_bytes();
                    meter.inspect(|meter| meter.count(0, num_bytes));
                    let origins = block.origins().in_pass(position.pass);
                    let block = block.with_origins(origins);
                    // The records are kept with what frames them.
                    let frames = rows.row_bytes().saturating_mul(block.num_rows()).saturating_sub(num_bytes);
                    charge.correct(block.held_bytes().saturating_add(frames));
                    Ok(Outcome::new(Rows::all(block.charged(charge)), error))
                };
                let outcome = catch_panic(read);
                drop(watch);
                slot.set(outcome);
            };
            context.start(self.position.distance, Box::new(work));
        }
    }
}

/// The rows of these numbers, up to the first that cannot be read.
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

impl Node for Sampled {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            self.start_tasks(context);
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            match self.ring.pop() {
                Some((mark, outcome)) => {
                    let Outcome { rows, error, .. } = outcome?;
                    self.error = error;
                    self.start_tasks(context);
                    if !rows.is_empty() {
                        return Ok(Poll::Ready(rows.marked(mark)));
                    }
                }
                None if self.ring.is_empty() => return Ok(Poll::End),
                None => return Ok(Poll::Pending),
            }
        }
    }
}
