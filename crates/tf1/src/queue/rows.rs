//! The elements of a call: a single element, or the rows of a batch.

use super::Element;
use super::packing::Packing;
use headrace_engine::error::Result;
use headrace_engine::kernel::Tensors;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use std::collections::VecDeque;

/// The number of rows to pack before the queue is locked. For longer batches, the rest is packed as
/// space becomes available.
const PREPARED_ROWS: usize = 256;

/// The elements of an enqueue, in order.
pub struct Rows(Source);

enum Source {
    One(Option<Element>),
    Many(Box<Many>),
}

struct Many {
    /// The next elements.
    ready: VecDeque<Element>,
    /// The batch whose rows are the remaining elements.
    batch: Tensors,
    /// The layout in which the rows are packed.
    layout: Option<u8>,
    next: usize,
    end: usize,
}

impl Rows {
    pub(super) fn one(element: Element) -> Self {
        Self(Source::One(Some(element)))
    }

    /// Creates elements from the rows of `batch`, whose components must match a queue of this
    /// capacity. Fails if there is not enough memory for as many of them as the queue may hold.
    pub(super) fn many(batch: Tensors, packing: &Packing, capacity: Option<usize>) -> Result<Self> {
        let end = batch.first().and_then(|component| component.shape().first().copied()).unwrap_or(0);
        let num_held = end.min(capacity.unwrap_or(usize::MAX));
        if num_held > PREPARED_ROWS {
            let num_bytes: usize = batch.iter().map(Tensor::num_bytes).sum();
            let row_bytes = num_bytes / end + packing.overhead_bytes(batch.len());
            allocate::probe_pieces(num_held, row_bytes)
                .map_err(|refusal| refusal.at(format_args!("{num_held} elements of a queue")))?;
        }
        let layout = packing.layout_for(&batch)?;
        Ok(Self(Source::Many(Box::new(Many { ready: VecDeque::new(), batch, layout, next: 0, end }))))
    }

    /// Elements that are already packed.
    pub(super) fn of_elements(elements: VecDeque<Element>) -> Self {
        let end = elements.len();
        Self(Source::Many(Box::new(Many { ready: elements, batch: Tensors::new(), layout: None, next: end, end })))
    }

    /// The number of elements left.
    pub fn len(&self) -> usize {
        match &self.0 {
            Source::One(element) => usize::from(element.is_some()),
            Source::Many(many) => many.ready.len() + many.end - many.next,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements taken so far.
    pub(super) fn num_popped(&self) -> usize {
        match &self.0 {
            Source::One(element) => usize::from(element.is_none()),
            Source::Many(many) => many.next - many.ready.len(),
        }
    }

    /// Copies the next rows out of the batch, without holding the queue's lock.
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
