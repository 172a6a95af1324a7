//! Converts errors between the engine and Python.

use headrace_engine::error::{Code, Error};
use pyo3::exceptions::{
    PyConnectionError, PyException, PyMemoryError, PyNotImplementedError, PyOSError, PyStopIteration, PyTimeoutError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use std::sync::Arc;

pyo3::create_exception!(
    headrace._native,
    EngineError,
    PyException,
    "A failure in the engine, as (code, message, name of the operation or None, causing exception or None)."
);

/// Converts a Python exception to an engine error, with TensorFlow's code for it and the exception
/// itself as the cause.
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
    let is_transient = may_pass(py, &error);
    let error = Error::new(code, error.to_string()).with_cause(Arc::new(error));
    if is_transient { error.transient() } else { error }
}

/// The codes of `headrace.errors` for failures that may be temporary.
const PASSING: [Code; 5] =
    [Code::Cancelled, Code::DeadlineExceeded, Code::ResourceExhausted, Code::Aborted, Code::Unavailable];

/// Returns true for exceptions of the system, of a connection or of a worker process, after which
/// the same call may succeed later. An OSError without a number doesn't count, because libraries
/// also raise it for damaged data.
fn may_pass(py: Python<'_>, error: &PyErr) -> bool {
    if error.is_instance_of::<PyConnectionError>(py) || error.is_instance_of::<PyTimeoutError>(py) {
        return true;
    }
    let value = error.value(py);
    let attribute = |name| value.getattr(name).ok();
    if error.is_instance_of::<PyOSError>(py) {
        return attribute("errno").is_some_and(|number| !number.is_none());
    }
    let code = attribute("error_code").and_then(|code| code.extract::<u8>().ok());
    code.is_some_and(|code| PASSING.iter().any(|passing| *passing as u8 == code))
        || attribute("has_lost_worker").is_some_and(|is_lost| is_lost.is_truthy().unwrap_or(false))
}

/// Returns the exception to raise for an engine error. Interrupts are raised unchanged: exceptions
/// of signal handlers, and KeyboardInterrupt, SystemExit and the like from Python functions.
///
/// If the run was stopped from outside while an operation was waiting, the exception's attribute
/// `waiting` is the operation's name.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let exception = exception(py, error);
    if let Some(name) = error.waiting() {
        // The exception of a user's signal handler may be frozen.
        let _ = exception.value(py).setattr("waiting", &**name);
    }
    exception
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let cause = error.cause().and_then(|cause| cause.downcast_ref::<PyErr>()).map(|cause| cause.clone_ref(py));
    match cause {
        Some(cause) if error.is_interrupting() || !cause.is_instance_of::<PyException>(py) => {
            if let Some(remedy) = error.remedy().filter(|_| cause.is_instance_of::<PyException>(py)) {
                // Notes are only a help. The exception matters more than a failure to add one.
                let _ = add_note(py, &cause, remedy);
            }
            cause
        }
        cause => {
            let op = error.op().map(|op| op.to_string());
            let cause = cause.map(|cause| cause.into_value(py));
            EngineError::new_err((error.code() as u8, error.message().to_owned(), op, cause))
        }
    }
}

/// Adds a note to an exception.
pub fn add_note(py: Python<'_>, error: &PyErr, note: &str) -> PyResult<()> {
    py.import("headrace.core.errors")?.call_method1("add_note", (error.value(py), note)).map(drop)
}

/// Converts the error in an engine result to a Python exception.
pub trait IntoPython<T> {
    fn into_python(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> IntoPython<T> for Result<T, Error> {
    fn into_python(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_python(py, &error))
    }
}
