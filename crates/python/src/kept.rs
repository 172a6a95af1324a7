//! What a description of a pipeline keeps between iterations. A copy of it, or one that was pickled, begins anew.

use headrace_engine::pipeline::index::Kept;
use headrace_engine::pipeline::nodes::cache::Store;
use pyo3::prelude::*;
use std::borrow::Cow;
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

    /// For each file that was scanned: the part it is of, its name, its size in bytes and how many records it has.
    fn counts(&self) -> Vec<(usize, Cow<'static, [u8]>, u64, u64)> {
        let owned = |(part, name, size, count): (_, bytes::Bytes, _, _)| (part, Cow::Owned(name.to_vec()), size, count);
        self.0.counts().into_iter().map(owned).collect()
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> (Bound<'py, PyAny>, ()) {
        (slf.get_type().into_any(), ())
    }
}
