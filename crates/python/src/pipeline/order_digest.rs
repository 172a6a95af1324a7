//! The order digest of an iteration.

use headrace_pipeline::order_digest::{self, Point, SequenceHash};
use pyo3::prelude::*;
use std::sync::Arc;

/// A point of the order.
#[pyclass(frozen, get_all, new = "from_fields", from_py_object, module = "headrace._native")]
#[derive(Clone)]
pub struct OrderPoint {
    pass_number: u64,
    /// The position in the pass.
    position: u64,
    /// The hash of all rows before it, and their number.
    hash: u64,
    num_hashed: u64,
}

impl From<Point> for OrderPoint {
    fn from(point: Point) -> Self {
        let Point { pass, position, hash } = point;
        Self { pass_number: pass, position, hash: hash.value, num_hashed: hash.len }
    }
}

/// The digest of the global order up to the consumer's position.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Default)]
pub struct OrderDigest(pub Arc<order_digest::OrderDigest>);

#[pymethods]
impl OrderDigest {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The digest of several lanes, which passes rows on to the digest of each. If `is_shared`, all
    /// of them see the same rows.
    #[staticmethod]
    fn of_lanes(lanes: Vec<PyRef<'_, Self>>, is_shared: bool) -> Self {
        let lanes = lanes.iter().map(|lane| Arc::clone(&lane.0)).collect();
        Self(Arc::new(order_digest::OrderDigest::of_lanes(lanes, is_shared)))
    }

    /// Starts at a point that an earlier iteration reached.
    fn begin(&self, point: OrderPoint) {
        let hash = SequenceHash { value: point.hash, len: point.num_hashed };
        self.0.begin(Point { pass: point.pass_number, position: point.position, hash });
    }

    /// Returns true if the consumer should report its position so that earlier data can be dropped.
    #[getter]
    fn is_long(&self) -> bool {
        self.0.is_long()
    }
}
