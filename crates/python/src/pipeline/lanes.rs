//! The lanes of an execution, one for each rank of a node.

use headrace_pipeline::nodes::lanes;
use pyo3::prelude::*;
use std::sync::Arc;

/// The lanes of an execution, which produce the rows of these shards. If `is_shared`, all begin at
/// the same row and share the nodes before the shard.
#[pyclass(frozen, module = "headrace._native")]
pub struct Lanes(pub Arc<lanes::Lanes>);

#[pymethods]
impl Lanes {
    #[new]
    fn new(shards: Vec<u64>, is_shared: bool) -> Self {
        Self(Arc::new(lanes::Lanes::new(shards, is_shared)))
    }
}
