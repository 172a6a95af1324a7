//! The waits of all threads, for `headrace.testing.dump_waits`.

use crate::waiting::watch::PythonWatch;
use headrace_engine::waits::{Awaited, Wait, registered};
use pyo3::prelude::*;
use std::any::Any;

/// The operation that waits and the description of its wait; either may be missing.
type Words = (Option<String>, Option<String>);

/// A wait: the number of its thread, its duration so far in seconds, the events that would end it,
/// and the function that is called if it lasts long.
type Found = (u64, f64, Vec<Words>, Option<Py<PyAny>>);

/// All waits that have lasted for a moment.
#[pyfunction]
pub fn waits(py: Python<'_>) -> Vec<Found> {
    // Describing them takes locks of queues, which no thread holds while it waits for the GIL.
    let words = |awaited: &Awaited| {
        let what = awaited.what.as_ref().map(|describe| describe());
        (awaited.op.as_deref().map(str::to_owned), what)
    };
    let found = |wait: &Wait| {
        let watch = wait.watch.as_deref().and_then(|watch| (watch as &dyn Any).downcast_ref::<PythonWatch>());
        let seconds = wait.since.elapsed().as_secs_f64();
        (wait.thread, seconds, wait.awaited.iter().map(words).collect(), watch.map(|watch| watch.watch.clone_ref(py)))
    };
    registered().iter().map(found).collect()
}

/// The requests to storages in progress, each with its duration so far in seconds.
#[pyfunction]
pub fn storage_requests() -> Vec<(String, f64)> {
    let seconds = |(what, since): (std::sync::Arc<str>, std::time::Instant)| {
        (what.as_ref().to_owned(), since.elapsed().as_secs_f64())
    };
    headrace_remote::requests().into_iter().map(seconds).collect()
}
