//! What an iteration over a pipeline says of what it has left out.

use crate::error::to_python;
use headrace_engine::error::Lost;
use headrace_engine::pipeline::skip_event::{PassedRows, Skipped};
use pyo3::prelude::*;

/// An example that was left out, or the rest of a file.
#[pyclass(frozen, module = "headrace._native")]
pub struct Failure(pub Skipped);

#[pymethods]
impl Failure {
    /// The number of the stage that lets it be left out.
    #[getter]
    fn skipper(&self) -> usize {
        self.0.skipper
    }

    /// The number of the stage that has failed.
    #[getter]
    fn stage(&self) -> usize {
        self.0.stage
    }

    /// The name of the file; None if it does not come from a file.
    #[getter]
    fn file(&self) -> Option<&[u8]> {
        let name = self.0.row_provenance.as_ref()?.file.name.bytes();
        (!name.is_empty()).then_some(&name[..])
    }

    /// The number of the record in its file, or of the example in its source, from 0.
    #[getter]
    fn record(&self) -> Option<u64> {
        self.0.row_provenance.as_ref().map(|row_provenance| row_provenance.record)
    }

    /// Where the record begins in its uncompressed file, with what frames it.
    #[getter]
    fn offset_bytes(&self) -> Option<u64> {
        self.0.offset_bytes
    }

    /// What tells the example from all others, of all passes.
    #[getter]
    fn place(&self) -> Option<[u64; 4]> {
        self.0.row_provenance.as_ref().map(|row_provenance| row_provenance.row_id().words())
    }

    /// What happened, in words.
    #[getter]
    fn reason(&self) -> &str {
        self.0.error.message()
    }

    /// Whether what follows in the file cannot be read either.
    #[getter]
    fn ends_file(&self) -> bool {
        self.0.ends_file
    }

    /// How many records are lost, this one included; None if nobody can tell.
    #[getter]
    fn num_lost(&self) -> Option<u64> {
        match self.0.lost {
            Lost::Records(count) => Some(count),
            Lost::Unknown => None,
        }
    }

    /// How many records a scan of all files has found beside it; 0 if there was none.
    #[getter]
    fn scanned(&self) -> u64 {
        self.0.scanned
    }

    /// The pass of the stage that lets it be left out, and how many examples came through there before, in this pass.
    #[getter]
    fn passed(&self) -> (u64, u64) {
        (self.0.passed.pass, self.0.passed.count)
    }

    /// Raises what happened: an `EngineError`, or what a Python function has raised, with a remedy in either.
    fn throw(&self, py: Python<'_>, remedy: &str) -> PyResult<()> {
        let cause = self.0.error.cause().and_then(|cause| cause.downcast_ref::<PyErr>());
        match cause {
            Some(cause) => {
                let cause = cause.clone_ref(py);
                cause.value(py).call_method1("add_note", (remedy,))?;
                Err(cause)
            }
            None => Err(to_python(py, &self.0.error.with_remedy(remedy))),
        }
    }
}

/// A pass through a stage that lets failures be left out has ended.
#[pyclass(frozen, module = "headrace._native")]
pub struct Passed {
    pub skipper: usize,
    pub rows: PassedRows,
}

#[pymethods]
impl Passed {
    /// The number of the stage.
    #[getter]
    fn skipper(&self) -> usize {
        self.skipper
    }

    /// The number of the pass.
    #[getter]
    fn pass_number(&self) -> u64 {
        self.rows.pass
    }

    /// How many examples came through.
    #[getter]
    fn num_rows(&self) -> u64 {
        self.rows.count
    }
}
