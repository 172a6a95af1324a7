//! What goes through a queue: elements, one at a time or as the rows of a batch.

use crate::error::Result;
use crate::kernel::Tensors;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// One element: its components in order.
pub type Element = SmallVec<[Tensor; 2]>;

/// What one dequeue took.
pub type Elements = SmallVec<[Element; 1]>;

/// Rows made ahead of the queue's lock; longer batches make the rest as space appears.
const PREPARED_ROWS: usize = 256;

/// The elements of one enqueue, in order.
pub struct Rows {
    /// The next elements.
    ready: VecDeque<Element>,
    /// The batch the others are rows of.
    batch: Tensors,
    next: usize,
    end: usize,
    is_batch: bool,
}

impl Rows {
    /// A single element.
    pub fn one(components: Tensors) -> Self {
        Self { ready: VecDeque::new(), batch: components, next: 0, end: 1, is_batch: false }
    }

    /// The rows of `batch`, whose components have the same size in the first dimension.
    pub fn many(batch: Tensors) -> Self {
        let end = batch.first().and_then(|component| component.shape().first().copied()).unwrap_or(0);
        Self { ready: VecDeque::new(), batch, next: 0, end, is_batch: true }
    }

    /// Elements made before, all of the same types and shapes.
    pub fn made(elements: VecDeque<Element>) -> Self {
        let end = elements.len();
        Self { ready: elements, batch: Tensors::new(), next: end, end, is_batch: false }
    }

    /// How many elements are still to come.
    pub fn len(&self) -> usize {
        self.ready.len() + self.end - self.next
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements are gone.
    pub(super) fn num_popped(&self) -> usize {
        self.next - self.ready.len()
    }

    pub(super) fn is_batch(&self) -> bool {
        self.is_batch
    }

    /// The components as they were given; those of the first element if they were given as elements.
    pub(super) fn components(&self) -> &[Tensor] {
        self.ready.front().map_or(&self.batch, |element| element)
    }

    /// Copies the next rows out of the batch, outside the queue's lock.
    pub(super) fn prepare(&mut self) -> Result<()> {
        while self.is_batch && self.ready.len() < PREPARED_ROWS && self.next < self.end {
            let element = self.make_next()?;
            self.ready.push_back(element);
        }
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<Option<Element>> {
        match self.ready.pop_front() {
            Some(element) => Ok(Some(element)),
            None if self.next < self.end => self.make_next().map(Some),
            None => Ok(None),
        }
    }

    fn make_next(&mut self) -> Result<Element> {
        let row = self.next;
        self.next += 1;
        if !self.is_batch {
            return Ok(std::mem::take(&mut self.batch).into_iter().collect());
        }
        self.batch.iter().map(|component| component.row(row)).collect()
    }
}
