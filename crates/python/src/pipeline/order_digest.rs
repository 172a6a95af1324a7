//! The digest of the order of an iteration.

use headrace_pipeline::order_digest::{self, Point, SequenceHash};
use pyo3::prelude::*;
use std::sync::Arc;

/// A point of the order: the pass, the place in it, and the value and the length of the hash of all
/// before it.
pub(crate) type Numbers = (u64, u64, u64, u64);

/// The digest of the global order, up to the place of the consumer.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Default)]
pub struct OrderDigest(pub Arc<order_digest::OrderDigest>);

#[pymethods]
impl OrderDigest {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Begins at a point that an earlier iteration has reached.
    fn begin(&self, point: Numbers) {
        let (pass, position, value, len) = point;
        self.0.begin(Point { pass, position, hash: SequenceHash { value, len } });
    }

    /// True if the consumer should tell its place, so that what is before it can be dropped.
    #[getter]
    fn is_long(&self) -> bool {
        self.0.is_long()
    }
}

/// A point as numbers.
pub(crate) fn numbers_of(point: Point) -> Numbers {
    (point.pass, point.position, point.hash.value, point.hash.len)
}
