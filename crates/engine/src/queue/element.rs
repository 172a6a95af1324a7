//! What goes through a queue: elements, one at a time or as the rows of a batch.

use super::packing::Packing;
use crate::error::Result;
use crate::kernel::Tensors;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// One element, as it lies in a queue; see [`super::packing`].
#[derive(Debug)]
pub enum Element {
    /// Few bytes, in place.
    Short {
        layout: u8,
        length: u8,
        bytes: [u8; Element::MAX_SHORT_BYTES],
    },
    Long {
        layout: u8,
        bytes: Box<[u8]>,
    },
    /// The components, where they are large or of shapes that are not the same for all.
    Tensors(Box<[Tensor]>),
}

/// What one dequeue took.
pub type Elements = SmallVec<[Element; 1]>;

/// Rows made ahead of the queue's lock; longer batches make the rest as space appears.
const PREPARED_ROWS: usize = 256;

impl Element {
    /// What makes an element 48 bytes.
    pub(super) const MAX_SHORT_BYTES: usize = 45;

    /// The bytes of its numbers and strings. Of floats that are put off, of what they are computed from.
    pub fn num_bytes(&self) -> usize {
        match self {
            Self::Short { length, .. } => usize::from(*length),
            Self::Long { bytes, .. } => bytes.len(),
            Self::Tensors(components) => components.iter().map(Tensor::num_bytes).sum(),
        }
    }

    /// Component 0 as the priority: checked to be a scalar int64 before the element comes in.
    pub(super) fn priority(&self) -> i64 {
        let packed = |bytes: &[u8]| bytes.first_chunk().copied().map(i64::from_ne_bytes);
        match self {
            Self::Short { bytes, .. } => packed(bytes),
            Self::Long { bytes, .. } => packed(bytes),
            Self::Tensors(components) => components.first().and_then(|first| first.integer_scalar("priority").ok()),
        }
        .unwrap_or_default()
    }
}

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
    /// How the rows are packed.
    layout: Option<u8>,
    next: usize,
    end: usize,
}

impl Rows {
    pub(super) fn one(element: Element) -> Self {
        Self(Source::One(Some(element)))
    }

    /// The rows of `batch`, whose components fit the queue.
    pub(super) fn many(batch: Tensors, packing: &Packing) -> Self {
        let end = batch.first().and_then(|component| component.shape().first().copied()).unwrap_or(0);
        let layout = packing.layout_for(&batch);
        Self(Source::Many(Box::new(Many { ready: VecDeque::new(), batch, layout, next: 0, end })))
    }

    /// Elements made before.
    pub(super) fn made(elements: VecDeque<Element>) -> Self {
        let end = elements.len();
        Self(Source::Many(Box::new(Many { ready: elements, batch: Tensors::new(), layout: None, next: end, end })))
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

    /// Copies the next rows out of the batch, outside the queue's lock.
    pub(super) fn prepare(&mut self, packing: &Packing) -> Result<()> {
        if let Source::Many(many) = &mut self.0 {
            let num_missing = PREPARED_ROWS.min(many.end - many.next).saturating_sub(many.ready.len());
            #[expect(clippy::disallowed_methods, reason = "at most PREPARED_ROWS")]
            many.ready.reserve_exact(num_missing);
            for _ in 0..num_missing {
                let element = many.make_next(packing)?;
                many.ready.push_back(element);
            }
        }
        Ok(())
    }

    pub(super) fn pop(&mut self, packing: &Packing) -> Result<Option<Element>> {
        match &mut self.0 {
            Source::One(element) => Ok(element.take()),
            Source::Many(many) => match many.ready.pop_front() {
                Some(element) => Ok(Some(element)),
                None if many.next < many.end => many.make_next(packing).map(Some),
                None => Ok(None),
            },
        }
    }
}

impl Many {
    fn make_next(&mut self, packing: &Packing) -> Result<Element> {
        let row = self.next;
        self.next += 1;
        packing.pack_row(self.layout, &mut self.batch, row)
    }
}
