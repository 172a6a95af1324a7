//! A Python function that is called during long waits.

use crate::error::from_python;
use crate::waiting::exit;
use headrace_engine::error::{Error, Result};
use headrace_engine::sync::cancellation::Watch;
use headrace_engine::sync::parker::Parker;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Calls `watch` with the names of the operations that are waiting.
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
        let gone = || Err(Error::cancelled("the interpreter is shutting down"));
        // The exit waits for this call. There are Rust frames below it, so Python must not end the
        // thread here.
        let _in_python = exit::InPython::new();
        if exit::is_to_linger() {
            return gone();
        }
        let look = |py: Python<'_>| match self.watch.call1(py, (names,)) {
            Ok(_) => Ok(()),
            Err(error) => Err(from_python(py, error)),
        };
        // The function may wait in this thread, which is already waiting.
        Parker::nested(|| Python::try_attach(look).unwrap_or_else(gone))
    }
}
