//! Rows that can be had by their numbers, in a given order.

use crate::error::Result;
use crate::pipeline::block::{Block, Rows};
use crate::pipeline::meters::Stopwatch;
use crate::pipeline::node::{Context, Node, Poll, Position};
use crate::pipeline::permutation::Permutation;
use crate::pipeline::task::Ring;
use crate::run::catch_panic;
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

/// Blocks are of this size, roughly.
const BLOCK_BYTES: usize = 256 * 1024;
const MAX_BLOCK_ROWS: usize = 4096;

/// The node.
pub struct Sampled {
    rows: Arc<dyn Indexed>,
    /// `None` for the order of the numbers.
    order: Option<Arc<Permutation>>,
    next: u64,
    block_rows: u64,
    ahead: usize,
    position: Position,
    ring: Ring<Rows>,
}

impl Sampled {
    /// Up to `ahead` blocks are read before they are wanted.
    pub fn new(rows: Arc<dyn Indexed>, order: Option<Permutation>, ahead: usize, position: Position) -> Self {
        let block_rows = (BLOCK_BYTES / rows.row_bytes().max(1)).clamp(1, MAX_BLOCK_ROWS) as u64;
        Self { rows, order: order.map(Arc::new), next: 0, block_rows, ahead, position, ring: Ring::new() }
    }

    fn start_tasks(&mut self, context: &mut Context) {
        while self.next < self.rows.len() && self.ring.len() < self.ahead.max(1) {
            let places = self.next..self.rows.len().min(self.next + self.block_rows);
            let num_bytes = self.rows.row_bytes().saturating_mul(places.clone().count());
            let Some(mut charge) = context.charge(num_bytes, self.ring.is_empty()) else { return };
            self.next = places.end;
            let (rows, order, slot) = (Arc::clone(&self.rows), self.order.clone(), self.ring.start());
            let (meters, position) = (Arc::clone(context.meters), self.position);
            let work = move || {
                let meter = meters.stage(position.stage);
                let watch = Stopwatch::start_with_processor(meter);
                let numbers: Vec<_> =
                    places.map(|place| order.as_ref().map_or(place, |order| order.get(place))).collect();
                let read = catch_panic(|| rows.read(&numbers)).map(|block| {
                    let num_bytes = block.num_bytes();
                    charge.correct(num_bytes);
                    meter.inspect(|meter| meter.count(0, num_bytes));
                    let origins = block.origins().in_pass(position.pass);
                    Rows::all(block.with_origins(origins).charged(charge))
                });
                drop(watch);
                slot.set(read);
            };
            context.start(self.position.distance, Box::new(work));
        }
    }
}

impl Node for Sampled {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        self.start_tasks(context);
        match self.ring.pop() {
            Some(rows) => {
                let rows = rows?;
                self.start_tasks(context);
                Ok(Poll::Ready(rows))
            }
            None if self.ring.is_empty() => Ok(Poll::End),
            None => Ok(Poll::Pending),
        }
    }
}
