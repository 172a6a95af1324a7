//! Python functions as kernels: the user's own, and NumPy where the engine has no kernel.

use crate::array::to_python_shared;
use crate::error::from_python;
use crate::view::to_view;
use headrace_engine::dtype::DType;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::{Kernel, Outputs, Step, Tensors};
use headrace_engine::run::Run;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Calls `function` with one array an input, which it must not write to. It returns a sequence of one array an output, each C-contiguous and of
/// exactly its type.
pub struct PythonFunction {
    pub function: Py<PyAny>,
    pub dtypes: Vec<DType>,
}

impl Kernel for PythonFunction {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        // The executor holds no lock here; the GIL is taken for the call alone.
        Python::try_attach(|py| self.call(py, inputs))
            .unwrap_or_else(|| Err(Error::cancelled("the interpreter is shutting down")))
    }
}

impl PythonFunction {
    fn call(&self, py: Python<'_>, inputs: Tensors) -> Result<Step> {
        let results = self.results(py, inputs).map_err(|error| from_python(py, error))?;
        let output = |(result, dtype): (&Bound<'_, PyAny>, &DType)| {
            to_view(result, *dtype).map_err(|error| from_python(py, error))?.into_tensor()
        };
        results.iter().zip(&self.dtypes).map(output).collect::<Result<Outputs>>().map(Step::Done)
    }

    fn results<'py>(&self, py: Python<'py>, inputs: Tensors) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let arguments = inputs.into_iter().map(|input| to_python_shared(py, input)).collect::<PyResult<Vec<_>>>()?;
        self.function.bind(py).call1(PyTuple::new(py, arguments)?)?.try_iter()?.collect()
    }
}
