//! What belongs to a session and outlives a run, beside queues: readers and variables.

use crate::error::IntoPython;
use headrace_engine::error::Error;
use headrace_engine::reader::{self, Format, TfRecordFormat};
use headrace_engine::variable;
use pyo3::prelude::*;
use std::sync::Arc;

/// A reader of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct Reader(pub Arc<reader::Reader>);

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, name: String, format: &str) -> PyResult<Self> {
        let format: Box<dyn Format> = match format {
            "TFRecord" => Box::new(TfRecordFormat),
            _ => return Err(Error::unimplemented(format!("no reader for {format} files"))).into_python(py),
        };
        Ok(Self(reader::Reader::new(name, format)))
    }
}

/// A variable of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct Variable(pub Arc<variable::Variable>);

#[pymethods]
impl Variable {
    #[new]
    fn new(name: String) -> Self {
        Self(Arc::new(variable::Variable::new(name)))
    }
}
