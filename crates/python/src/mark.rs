//! Marks of pipelines as Python has them: lists of numbers and lists, which JSON takes.

use headrace_engine::pipeline::mark::{Mark, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Pipelines are not put together deeper than this.
const MAX_DEPTH: usize = 100;

/// `[skip, numbers, inputs]`, where each input is a mark; without what is empty at its end. The beginning is `[skip]`.
pub fn to_python<'py>(py: Python<'py>, mark: &Mark) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::new(py, [mark.skip()])?;
    let Some(state) = mark.state() else { return Ok(list) };
    list.append(PyList::new(py, &state.numbers)?)?;
    if !state.inputs.is_empty() {
        let inputs = state.inputs.iter().map(|input| to_python(py, input)).collect::<PyResult<Vec<_>>>()?;
        list.append(PyList::new(py, inputs)?)?;
    }
    Ok(list)
}

/// Reads what [`to_python`] has made. Fails with a ValueError if it is something else.
pub fn from_python(mark: &Bound<'_, PyAny>) -> PyResult<Mark> {
    read(mark, 0).map_err(|_| PyValueError::new_err("its place is none that a pipeline gives"))
}

fn read(mark: &Bound<'_, PyAny>, depth: usize) -> PyResult<Mark> {
    let parts: Vec<Bound<'_, PyAny>> = mark.cast::<PyList>()?.extract()?;
    let wrong = || PyValueError::new_err("");
    let (first, rest) = parts.split_first().ok_or_else(wrong)?;
    let skip: u64 = first.extract()?;
    let (numbers, inputs) = match rest {
        [] => return Ok(Mark::default().behind(skip)),
        [numbers] => (numbers, Vec::new()),
        [numbers, inputs] if depth < MAX_DEPTH => {
            let inputs = inputs.cast::<PyList>()?;
            (numbers, inputs.iter().map(|input| read(&input, depth + 1)).collect::<PyResult<_>>()?)
        }
        _ => return Err(wrong()),
    };
    Ok(Mark::at(State { numbers: numbers.cast::<PyList>()?.extract()?, inputs }, skip))
}
