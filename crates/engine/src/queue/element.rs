//! What goes through a queue: elements, one at a time or as the rows of a batch.

use crate::error::Result;
use crate::kernel::Tensors;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// One element: its components in order. Boxed, since it moves often between here and the store.
pub type Element = Box<[Tensor]>;

/// What one dequeue took.
pub type Elements = SmallVec<[Element; 1]>;

/// Rows made ahead of the queue's lock; longer batches make the rest as space appears.
const PREPARED_ROWS: usize = 256;

/// The elements of one enqueue, in order.
pub struct Rows(Source);

enum Source {
    One(Option<Element>),
    Many(Box<Many>),
}

struct Many {
    /// The next elements.
    ready: VecDeque<Element>,
    /// The batch the others are rows of.
    batch: Tensors,
    next: usize,
    end: usize,
}

impl Rows {
    /// A single element.
    pub fn one(components: Tensors) -> Self {
        Self(Source::One(Some(components.into_boxed_slice())))
    }

    /// The rows of `batch`, whose components have the same size in the first dimension.
    pub fn many(batch: Tensors) -> Self {
        let end = batch.first().and_then(|component| component.shape().first().copied()).unwrap_or(0);
        Self(Source::Many(Box::new(Many { ready: VecDeque::new(), batch, next: 0, end })))
    }

    /// Elements made before, all of the same types and shapes.
    pub fn made(elements: VecDeque<Element>) -> Self {
        let end = elements.len();
        Self(Source::Many(Box::new(Many { ready: elements, batch: Tensors::new(), next: end, end })))
    }

    /// How many elements are still to come.
    pub fn len(&self) -> usize {
        match &self.0 {
            Source::One(element) => usize::from(element.is_some()),
            Source::Many(many) => many.ready.len() + many.end - many.next,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements are gone.
    pub(super) fn num_popped(&self) -> usize {
        match &self.0 {
            Source::One(element) => usize::from(element.is_none()),
            Source::Many(many) => many.next - many.ready.len(),
        }
    }

    pub(super) fn is_batch(&self) -> bool {
        matches!(&self.0, Source::Many(many) if !many.batch.is_empty())
    }

    /// The components as they were given; those of the first element if they were given as elements.
    pub(super) fn components(&self) -> &[Tensor] {
        match &self.0 {
            Source::One(element) => element.as_deref().unwrap_or_default(),
            Source::Many(many) => many.ready.front().map_or(&many.batch, |element| element),
        }
    }

    /// Copies the next rows out of the batch, outside the queue's lock.
    pub(super) fn prepare(&mut self) -> Result<()> {
        if let Source::Many(many) = &mut self.0 {
            while many.ready.len() < PREPARED_ROWS && many.next < many.end {
                let element = many.make_next()?;
                many.ready.push_back(element);
            }
        }
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<Option<Element>> {
        match &mut self.0 {
            Source::One(element) => Ok(element.take()),
            Source::Many(many) => match many.ready.pop_front() {
                Some(element) => Ok(Some(element)),
                None if many.next < many.end => many.make_next().map(Some),
                None => Ok(None),
            },
        }
    }
}

impl Many {
    fn make_next(&mut self) -> Result<Element> {
        let row = self.next;
        self.next += 1;
        self.batch.iter_mut().map(|component| component.take_row(row)).collect()
    }
}
