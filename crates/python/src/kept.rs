//! What a description of a pipeline keeps between iterations. A copy of it, or one that was pickled, begins anew.

use headrace_engine::pipeline::index::Kept;
use headrace_engine::pipeline::nodes::cache::Store;
use pyo3::prelude::*;
use std::sync::Arc;

/// The examples that a `cache()` keeps.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Default)]
pub struct Cache(pub Arc<Store>);

#[pymethods]
impl Cache {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> (Bound<'py, PyAny>, ()) {
        (slf.get_type().into_any(), ())
    }
}

/// Where the records of files begin, for a shuffle of all examples.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Default)]
pub struct Index(pub Arc<Kept>);

#[pymethods]
impl Index {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> (Bound<'py, PyAny>, ()) {
        (slf.get_type().into_any(), ())
    }
}
