//! The fixed properties of a queue: its order, its capacity, and the dtypes and shapes of its
//! components.

use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::{PartialShape, Shape};

/// The order in which elements are dequeued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In order of arrival.
    Fifo,
    /// In order of arrival. Batches are padded to their largest element.
    Padding,
    /// Smallest priority first. The priority is component 0, a scalar int64.
    Priority,
    /// Drawn at random.
    Shuffle {
        /// The number of elements that dequeues leave in the queue until it is closed.
        min_after_dequeue: usize,
        /// The seed of the graph, or 0 if it has none.
        seed: i64,
        /// The seed of the operation. If both are 0, the order differs each time.
        seed2: i64,
    },
}

/// The fixed properties of a queue.
#[derive(Clone, Debug)]
pub struct QueueSpec {
    /// The name in messages.
    pub name: String,
    /// The order in which elements are dequeued.
    pub order: Order,
    /// `None` if the queue is unbounded.
    pub capacity: Option<usize>,
    /// The dtype of each component.
    pub dtypes: Vec<DType>,
    /// `None` if components may have any shape.
    pub shapes: Option<Vec<PartialShape>>,
}

impl QueueSpec {
    /// The name of the class for messages.
    pub fn class(&self) -> &'static str {
        match self.order {
            Order::Fifo => "FIFOQueue",
            Order::Padding => "PaddingFIFOQueue",
            Order::Priority => "PriorityQueue",
            Order::Shuffle { .. } => "RandomShuffleQueue",
        }
    }

    pub(super) fn check_order(&self) -> Result<()> {
        match (self.order, self.capacity) {
            (Order::Shuffle { min_after_dequeue, .. }, Some(capacity)) if min_after_dequeue >= capacity => Err(
                Error::invalid_argument(format!("min_after_dequeue {min_after_dequeue} must be < capacity {capacity}")),
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn closed(&self) -> Error {
        Error::cancelled(format!("{} '{}' is closed.", self.class(), self.name))
    }

    pub(super) fn already_closed(&self) -> Error {
        Error::cancelled(format!("Queue '{}' is already closed.", self.name))
    }

    pub(super) fn insufficient(&self, requested: usize, size: usize) -> Error {
        Error::out_of_range(format!(
            "{} '{}' is closed and has insufficient elements (requested {requested}, current size {size})",
            self.class(),
            self.name
        ))
    }

    /// The component shapes, which a dequeue of several elements requires.
    pub fn known_shapes(&self) -> Result<&[PartialShape]> {
        self.shapes.as_deref().ok_or_else(|| {
            let class = self.class();
            Error::invalid_argument(format!(
                "{class}'s DequeueMany and DequeueUpTo require the components to have specified shapes."
            ))
        })
    }

    /// Returns true if component `index` of an element may have the shape `dims`.
    pub fn accepts(&self, index: usize, dims: &[usize]) -> bool {
        self.shapes.as_ref().is_none_or(|shapes| shapes[index].is_compatible_with(dims))
    }

    /// Checks that the components of an element, or of the rows of a batch, have this queue's
    /// dtypes and shapes.
    pub(super) fn check(&self, components: &[Tensor], is_batch: bool) -> Result<()> {
        let got = components.iter().map(Tensor::dtype);
        if !got.clone().eq(self.dtypes.iter().copied()) {
            let got: Vec<DType> = got.collect();
            let names = |dtypes: &[DType]| dtypes.iter().map(|dtype| dtype.to_string()).collect::<Vec<_>>().join(",");
            return Err(Error::invalid_argument(format!(
                "Signature mismatch, have: {} expected: {}",
                names(&got),
                names(&self.dtypes)
            )));
        }
        let length = components.first().and_then(|first| first.shape().first().copied()).unwrap_or_default();
        for (index, component) in components.iter().enumerate() {
            let shape = component.shape();
            if is_batch && shape.is_empty() {
                return Err(Error::invalid_argument(format!(
                    "Shape mismatch in tuple component {index}. Expected a batch of elements, got a scalar"
                )));
            }
            match &self.shapes {
                Some(shapes) => check_shape(index, &shapes[index], shape, is_batch.then_some(length))?,
                None if is_batch && shape[0] != length => {
                    return Err(Error::invalid_argument(format!(
                        "All input tensors must have the same size in the 0th dimension. Component {index} has {}, \
                         and should have {length}",
                        shape[0]
                    )));
                }
                None => {}
            }
        }
        Ok(())
    }
}

fn check_shape(index: usize, expected: &PartialShape, got: &Shape, batch: Option<usize>) -> Result<()> {
    let fits = match batch {
        Some(length) => got[0] == length && expected.is_compatible_with(&got[1..]),
        None => expected.is_compatible_with(got),
    };
    if fits {
        return Ok(());
    }
    let expected = batch.map_or_else(|| expected.clone(), |length| expected.batched(length));
    Err(Error::invalid_argument(format!("Shape mismatch in tuple component {index}. Expected {expected}, got {got}")))
}
