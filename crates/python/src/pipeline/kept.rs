//! Data that a pipeline's description keeps between iterations. A copy or an unpickled description
//! starts empty.

use headrace_engine::pipeline::index::{Kept, KeptBorders};
use headrace_engine::pipeline::nodes::cache::Store;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// The examples kept by a `cache()`.
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

/// The offsets of the records of files, for a shuffle of all examples, and the borders of their
/// pieces, for a shuffle over a window.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Default)]
pub struct Index(pub Arc<Kept>, pub Arc<KeptBorders>);

#[pymethods]
impl Index {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// For each scanned file: the part of the description, its name, its size in bytes and its
    /// number of records.
    fn counts(&self) -> Vec<(usize, Cow<'static, [u8]>, u64, u64)> {
        let owned = |(part, name, size, count): (_, bytes::Bytes, _, _)| (part, Cow::Owned(name.to_vec()), size, count);
        self.0.counts().into_iter().map(owned).collect()
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> (Bound<'py, PyAny>, ()) {
        (slf.get_type().into_any(), ())
    }
}
