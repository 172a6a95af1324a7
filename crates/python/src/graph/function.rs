//! Python functions in programs: the user's own functions, and NumPy functions for operations
//! without a kernel.
//!
//! A run that reaches one returns to Python with a [`PythonCall`]. `engine.call_functions` makes
//! the call and resumes the run. So there is never a Rust frame below the frame of a Python
//! function; see `headrace_engine::program::Execution`.

use crate::boundary::array::{to_python, to_python_shared};
use crate::boundary::view::to_view;
use crate::error::{IntoPython, from_python};
use crate::waiting::cancellation::Cancellation;
use crate::waiting::detach::detached_run;
use crate::waiting::exit;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::Outputs;
use headrace_engine::program::{Execution, HostCall, Stop};
use headrace_engine::run::Run;
use headrace_engine::tensor::dtype::DType;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A function that is called with one array per input, which it must not write to. It returns a
/// sequence with one array per output, which must be C-contiguous and of exactly the right dtype.
pub struct PythonFunction {
    pub function: Py<PyAny>,
    pub dtypes: Vec<DType>,
}

/// A run that has stopped or has not started.
pub struct Stopped {
    pub execution: Execution,
    pub cancellation: Py<Cancellation>,
    pub deadline: Option<Instant>,
}

/// A Python function that a run has reached and that Python has to call. `finish` and `fail` resume
/// the run.
#[pyclass(frozen, module = "headrace._native")]
pub struct PythonCall {
    #[pyo3(get)]
    function: Py<PyAny>,
    #[pyo3(get)]
    arguments: Py<PyTuple>,
    dtypes: Vec<DType>,
    /// `None` after the run has been resumed.
    stopped: Mutex<Option<(Stopped, exit::InPython)>>,
}

#[pymethods]
impl PythonCall {
    /// Resumes the run with the function's results. Returns the same as the `Program.run` or
    /// `Program.run_loop` that began the run.
    fn finish<'py>(&self, results: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = results.py();
        self.resume(py, self.outputs(results))
    }

    /// Ends the run with the exception raised by the function.
    fn fail<'py>(&self, exception: &Bound<'py, PyBaseException>) -> PyResult<Bound<'py, PyAny>> {
        let py = exception.py();
        self.resume(py, Err(from_python(py, PyErr::from_value(exception.clone().into_any()))))
    }
}

impl PythonCall {
    fn outputs(&self, results: &Bound<'_, PyAny>) -> Result<Outputs> {
        let py = results.py();
        let results = results.try_iter().and_then(Iterator::collect::<PyResult<Vec<_>>>);
        let results = results.map_err(|error| from_python(py, error))?;
        let output = |(result, dtype): (&Bound<'_, PyAny>, &DType)| {
            to_view(result, *dtype).map_err(|error| from_python(py, error))?.into_tensor()
        };
        results.iter().zip(&self.dtypes).map(output).collect()
    }

    fn resume<'py>(&self, py: Python<'py>, returned: Result<Outputs>) -> PyResult<Bound<'py, PyAny>> {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner).take();
        let over = || Error::internal("the call was finished before");
        let (stopped, in_python) = stopped.ok_or_else(over).into_python(py)?;
        drop(in_python);
        advance(py, stopped, |execution, run| execution.resume(run, returned))
    }
}

/// Runs without the GIL to the end or to the next Python function. Returns a `PythonCall` or the
/// fetched values.
pub fn advance(
    py: Python<'_>,
    stopped: Stopped,
    work: impl FnOnce(&mut Execution, &Run) -> Result<Stop> + Send,
) -> PyResult<Bound<'_, PyAny>> {
    let Stopped { mut execution, cancellation, deadline } = stopped;
    let parker = Arc::clone(execution.parker());
    let stop = detached_run(py, Some(&parker), &cancellation.get().0, deadline, |run| work(&mut execution, run))?;
    let HostCall { function, inputs } = match stop {
        Stop::Call(call) => call,
        Stop::Done(values) => {
            let arrays = values.into_iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?;
            return PyList::new(py, arrays).map(Bound::into_any);
        }
    };
    let foreign = || Error::internal("a host function is not a Python function");
    let function = function.downcast::<PythonFunction>().map_err(|_| foreign()).into_python(py)?;
    let arguments = inputs.into_iter().map(|input| to_python_shared(py, input)).collect::<PyResult<Vec<_>>>()?;
    let call = PythonCall {
        function: function.function.clone_ref(py),
        arguments: PyTuple::new(py, arguments)?.unbind(),
        dtypes: function.dtypes.clone(),
        stopped: Mutex::new(Some((Stopped { execution, cancellation, deadline }, exit::InPython::new()))),
    };
    Bound::new(py, call).map(Bound::into_any)
}
