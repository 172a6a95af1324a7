//! Cancels runs.

use crate::waiting::watch::PythonWatch;
use headrace_engine::sync::cancellation;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Cancels all runs that wait with it.
#[pyclass(frozen, module = "headrace._native")]
pub struct Cancellation(pub cancellation::Cancellation);

#[pymethods]
impl Cancellation {
    /// Calls `watch` with the names of the operations in which a run is waiting, once the wait has
    /// lasted for `patience_secs`, then twice that time, and so on.
    #[new]
    fn new(watch: Py<PyAny>, patience_secs: f64) -> PyResult<Self> {
        let patience =
            Duration::try_from_secs_f64(patience_secs).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self(cancellation::Cancellation::watched(Arc::new(PythonWatch { watch, patience }))))
    }

    /// Creates a child, which is cancelled together with this one or on its own.
    fn child(&self) -> Self {
        Self(self.0.child())
    }

    fn cancel(&self) {
        self.0.cancel();
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
