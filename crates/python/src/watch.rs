//! A Python function that is told of waits that last long.

use crate::error::from_python;
use headrace_engine::cancellation::Watch;
use headrace_engine::error::{Error, Result};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Calls `watch` with the names of the operations that wait.
#[derive(Debug)]
pub struct PythonWatch {
    pub watch: Py<PyAny>,
    pub patience: Duration,
}

impl Watch for PythonWatch {
    fn patience(&self) -> Duration {
        self.patience
    }

    fn look(&self, names: &[Arc<str>]) -> Result<()> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        Python::try_attach(|py| match self.watch.call1(py, (names,)) {
            Ok(_) => Ok(()),
            Err(error) => Err(from_python(py, error)),
        })
        .unwrap_or_else(|| Err(Error::cancelled("the interpreter is shutting down")))
    }
}
