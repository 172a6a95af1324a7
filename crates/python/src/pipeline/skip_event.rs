//! Reports about examples that were skipped during an iteration.

use crate::error::{IntoPython, add_note, to_python};
use headrace_engine::error::Lost;
use headrace_pipeline::skip_event::{PassProgress, Skipped};
use pyo3::prelude::*;

/// A skipped example, or the rest of a file that was skipped.
#[pyclass(frozen, module = "headrace._native")]
pub struct Failure(pub Skipped);

#[pymethods]
impl Failure {
    /// The number of the `skip_errors` stage that skips it.
    #[getter]
    fn skipper(&self) -> usize {
        self.0.skipper
    }

    /// The number of the stage that failed.
    #[getter]
    fn stage(&self) -> usize {
        self.0.stage
    }

    /// The name of the file, or None if the example does not come from a file.
    #[getter]
    fn file(&self) -> Option<&[u8]> {
        let name = self.0.row_provenance.as_ref()?.file.name.bytes();
        (!name.is_empty()).then_some(&name[..])
    }

    /// The number of the record in its file, or of the example in its source, from 0.
    #[getter]
    fn record(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.0.row_provenance.as_ref().map(|row_provenance| row_provenance.record_number()).transpose().into_python(py)
    }

    /// The offset of the record, including its framing, in the uncompressed file.
    #[getter]
    fn offset_bytes(&self) -> Option<u64> {
        self.0.offset_bytes
    }

    /// The identity of the example, unique over all passes.
    #[getter]
    fn row_id(&self, py: Python<'_>) -> PyResult<Option<[u64; 4]>> {
        let row_id = self.0.row_provenance.as_ref().map(|row_provenance| row_provenance.row_id());
        Ok(row_id.transpose().into_python(py)?.map(|row_id| row_id.words()))
    }

    /// The reason, as text.
    #[getter]
    fn reason(&self) -> &str {
        self.0.error.message()
    }

    /// True if the rest of the file cannot be read either.
    #[getter]
    fn ends_file(&self) -> bool {
        self.0.ends_file
    }

    /// The number of lost records, including this one. None if unknown.
    #[getter]
    fn num_lost(&self) -> Option<u64> {
        match self.0.lost {
            Lost::Records(count) => Some(count),
            Lost::Unknown => None,
        }
    }

    /// The number of additional records found by a scan of all files; 0 without a scan.
    #[getter]
    fn num_scanned(&self) -> u64 {
        self.0.num_scanned
    }

    /// The pass of the `skip_errors` stage, and how many examples it had returned in this pass.
    #[getter]
    fn passed(&self) -> (u64, u64) {
        (self.0.passed.pass, self.0.passed.count)
    }

    /// Raises the failure: an `EngineError`, or the exception of a Python function, with a remedy
    /// added.
    fn throw(&self, py: Python<'_>, remedy: &str) -> PyResult<()> {
        let cause = self.0.error.cause().and_then(|cause| cause.downcast_ref::<PyErr>());
        match cause {
            Some(cause) => {
                let cause = cause.clone_ref(py);
                add_note(py, &cause, remedy)?;
                Err(cause)
            }
            None => Err(to_python(py, &self.0.error.with_remedy(remedy))),
        }
    }
}

/// The end of a pass through a `skip_errors` stage.
#[pyclass(frozen, module = "headrace._native")]
pub struct PassEnd {
    pub skipper: usize,
    pub rows: PassProgress,
}

#[pymethods]
impl PassEnd {
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

    /// The number of examples that it has returned.
    #[getter]
    fn num_rows(&self) -> u64 {
        self.rows.count
    }
}
