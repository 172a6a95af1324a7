//! Converting errors between the engine and Python.

use headrace_engine::error::{Code, Error};
use pyo3::exceptions::{PyException, PyMemoryError, PyNotImplementedError, PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;

pyo3::create_exception!(
    headrace._native,
    EngineError,
    PyException,
    "A failure in the engine, as (code, message, name of the operation or None, causing exception or None)."
);

/// Converts a Python exception to an error of the engine, with TensorFlow's code for it and the
/// exception itself as its cause.
pub fn from_python(py: Python<'_>, error: PyErr) -> Error {
    let code = if error.is_instance_of::<PyStopIteration>(py) {
        Code::OutOfRange
    } else if error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyTypeError>(py) {
        Code::InvalidArgument
    } else if error.is_instance_of::<PyMemoryError>(py) {
        Code::ResourceExhausted
    } else if error.is_instance_of::<PyNotImplementedError>(py) {
        Code::Unimplemented
    } else {
        Code::Unknown
    };
    Error::new(code, error.to_string()).with_cause(Arc::new(error))
}

/// The exception to raise for an error of the engine. An interrupt is raised unchanged: the
/// exception of a signal handler, and KeyboardInterrupt, SystemExit and the like from Python
/// functions.
///
/// If the run was stopped from outside while an operation waited, the exception's attribute
/// `waiting` is the operation's name.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let exception = exception(py, error);
    match error.waiting().map(|name| exception.value(py).setattr("waiting", &**name)) {
        Some(Err(error)) => error,
        _ => exception,
    }
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let cause = error.cause().and_then(|cause| cause.downcast_ref::<PyErr>()).map(|cause| cause.clone_ref(py));
    match cause {
        Some(cause) if error.is_interrupting() || !cause.is_instance_of::<PyException>(py) => cause,
        cause => {
            let op = error.op().map(|op| op.to_string());
            let cause = cause.map(|cause| cause.into_value(py));
            EngineError::new_err((error.code() as u8, error.message().to_owned(), op, cause))
        }
    }
}

/// Converts the error of an engine's result to a Python exception.
pub trait IntoPython<T> {
    fn into_python(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> IntoPython<T> for Result<T, Error> {
    fn into_python(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_python(py, &error))
    }
}
