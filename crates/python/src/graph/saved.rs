//! Saves and restores the contents of a session's resources as bytes.

use crate::boundary::bytes::python_bytes;
use crate::error::IntoPython;
use crate::graph::resource::{
    Barrier, LookupTable, MutableTable, RandomGenerator, Reader, RecordInput, SparseTable, StagingArea, Variable,
};
use crate::queues::queue::Queue;
use crate::waiting::cancellation::Cancellation;
use crate::waiting::detach::{detached, waiting};
use headrace_engine::error::{Code, Error};
use headrace_engine::saved::{Chunks, Restore};
use headrace_engine::tensor::dtype::DType;
use headrace_tf1::queue::Progress;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

/// The chunks of bytes of one resource.
#[pyclass(frozen, module = "headrace._native")]
pub struct SavedChunks(Mutex<Chunks>);

#[pymethods]
impl SavedChunks {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).next();
        let chunk = next.transpose().into_python(py)?;
        chunk.map(|chunk| python_bytes(py, &chunk)).transpose()
    }
}

/// The state that was read for a resource but is not active yet.
#[pyclass(frozen, module = "headrace._native")]
pub struct Prepared(Mutex<Option<Restore>>);

#[pymethods]
impl Prepared {
    /// Activates the state of each resource. Cannot fail, and nothing happens in between.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
    fn apply_all(all: Vec<Bound<'_, Self>>) {
        let take = |one: &Bound<'_, Self>| one.get().0.lock().unwrap_or_else(PoisonError::into_inner).take();
        all.iter().filter_map(take).for_each(|restore| restore());
    }
}

/// A resource of a session.
#[derive(FromPyObject)]
pub enum Resource<'py> {
    Queue(Bound<'py, Queue>),
    Reader(Bound<'py, Reader>),
    Variable(Bound<'py, Variable>),
    SparseTable(Bound<'py, SparseTable>),
    LookupTable(Bound<'py, LookupTable>),
    MutableTable(Bound<'py, MutableTable>),
    RecordInput(Bound<'py, RecordInput>),
    StagingArea(Bound<'py, StagingArea>),
    Barrier(Bound<'py, Barrier>),
    RandomGenerator(Bound<'py, RandomGenerator>),
}

/// Saves the content of a resource.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn save_resource(py: Python<'_>, resource: Resource<'_>) -> PyResult<SavedChunks> {
    let chunks = match &resource {
        Resource::Queue(queue) => queue.get().0.save(),
        // This may request the length of the reader's file from a storage.
        Resource::Reader(reader) => {
            let reader = &reader.get().0;
            Ok(waiting(py, || reader.save())?)
        }
        Resource::Variable(variable) => variable.get().0.save(),
        Resource::SparseTable(table) => table.get().0.save(),
        Resource::LookupTable(table) => table.get().0.save(),
        Resource::MutableTable(table) => table.get().0.save(),
        Resource::RecordInput(input) => input.get().0.save(),
        Resource::StagingArea(area) => area.get().0.save(),
        Resource::Barrier(barrier) => barrier.get().0.save(),
        Resource::RandomGenerator(generator) => generator.get().0.save(),
    };
    Ok(SavedChunks(Mutex::new(chunks.into_python(py)?)))
}

/// Reads the new content of a resource from chunks. For a variable, `code` is the number of its
/// dtype. An exception of the iterator is raised unchanged.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn prepare_resource(resource: Resource<'_>, chunks: &Bound<'_, PyAny>, code: u8) -> PyResult<Prepared> {
    let py = chunks.py();
    let (mut raised, mut iterator) = (None, chunks.try_iter()?);
    let mut chunks = std::iter::from_fn(|| {
        let chunk = iterator.next()?.and_then(|chunk| Ok(chunk.cast_into::<PyBytes>()?.as_bytes().to_vec()));
        Some(chunk.map_err(|error| {
            raised = Some(error);
            Error::internal("the chunks could not be read")
        }))
    });
    let prepared = match &resource {
        Resource::Queue(queue) => queue.get().0.prepare(&mut chunks),
        Resource::Reader(reader) => {
            let reader = &reader.get().0;
            match chunks.by_ref().collect::<Result<Vec<_>, _>>() {
                Ok(chunks) => Ok(waiting(py, || reader.prepare(&mut chunks.into_iter().map(Ok)))?),
                Err(error) => Err(error),
            }
        }
        Resource::Variable(variable) => {
            DType::from_code(code).and_then(|dtype| variable.get().0.prepare(&mut chunks, dtype))
        }
        Resource::SparseTable(table) => table.get().0.prepare(&mut chunks),
        Resource::LookupTable(table) => table.get().0.prepare(&mut chunks),
        Resource::MutableTable(table) => table.get().0.prepare(&mut chunks),
        Resource::RecordInput(input) => input.get().0.prepare(&mut chunks),
        Resource::StagingArea(area) => area.get().0.prepare(&mut chunks),
        Resource::Barrier(barrier) => barrier.get().0.prepare(&mut chunks),
        Resource::RandomGenerator(generator) => generator.get().0.prepare(&mut chunks),
    };
    match raised {
        Some(error) => Err(error),
        None => Ok(Prepared(Mutex::new(Some(prepared.into_python(py)?)))),
    }
}

/// Waits until all elements that were accepted without room have entered a queue, or until the
/// queue is closed.
#[pyfunction]
pub fn settle_queue(py: Python<'_>, queue: &Bound<'_, Queue>, cancellation: &Cancellation) -> PyResult<()> {
    let queue = &queue.get().0;
    detached(py, &cancellation.0, None, |run| {
        let settled = match queue.settle(run.parker()) {
            Ok(Progress::Waiting(waiting)) => waiting.wait(run).map(drop).map_err(|unfinished| unfinished.error),
            settled => settled.map(drop),
        };
        match settled {
            // The queue is closed, so the next enqueue gets the error.
            Err(error) if error.code() == Code::Cancelled && run.check().is_ok() => Ok(()),
            settled => settled,
        }
    })
}
