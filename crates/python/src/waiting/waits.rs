//! The waits of all threads, for `headrace.testing.dump_waits`.

use crate::waiting::watch::PythonWatch;
use headrace_engine::waits::{Awaited, Wait, registered};
use pyo3::prelude::*;
use std::any::Any;

/// A wait of a thread.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct EngineWait {
    /// The system's number of the thread.
    thread: u64,
    /// How long it has lasted so far.
    seconds: f64,
    /// The events. Any of them ends the wait.
    awaited: Vec<AwaitedEvent>,
    /// The function to call if the wait is long.
    watch: Option<Py<PyAny>>,
}

/// An event that ends a wait. The waiting operation or the description may be missing.
#[pyclass(frozen, get_all, module = "headrace._native")]
#[derive(Clone)]
pub struct AwaitedEvent {
    op: Option<String>,
    text: Option<String>,
}

/// Returns all waits that have lasted for a moment.
#[pyfunction]
pub fn waits(py: Python<'_>) -> Vec<EngineWait> {
    // Describing them acquires locks of queues, which no thread holds while it waits for the GIL.
    let event = |awaited: &Awaited| AwaitedEvent {
        op: awaited.op.as_deref().map(str::to_owned),
        text: awaited.what.as_ref().map(|describe| describe()),
    };
    let wait = |wait: &Wait| {
        let watch = wait.watch.as_deref().and_then(|watch| (watch as &dyn Any).downcast_ref::<PythonWatch>());
        EngineWait {
            thread: wait.thread,
            seconds: wait.since.elapsed().as_secs_f64(),
            awaited: wait.awaited.iter().map(event).collect(),
            watch: watch.map(|watch| watch.watch.clone_ref(py)),
        }
    };
    registered().iter().map(wait).collect()
}

/// Returns the storage requests in progress, each with its duration so far in seconds.
#[pyfunction]
pub fn storage_requests() -> Vec<(String, f64)> {
    let seconds = |(what, since): (std::sync::Arc<str>, std::time::Instant)| {
        (what.as_ref().to_owned(), since.elapsed().as_secs_f64())
    };
    headrace_remote::requests().into_iter().map(seconds).collect()
}
