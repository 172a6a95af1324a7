//! Marks of pipelines as Python has them: lists of numbers and lists, which JSON takes.

use headrace_engine::pipeline::mark::{Mark, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// Pipelines are not put together deeper than this.
const MAX_DEPTH: usize = 100;

/// `[skip, numbers, inputs, text]`, where each input is a mark; without what is empty at its end. The beginning is `[skip]`.
pub fn to_python<'py>(py: Python<'py>, mark: &Mark) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::new(py, [mark.skip()])?;
    let Some(state) = mark.state() else { return Ok(list) };
    list.append(PyList::new(py, state.numbers.iter())?)?;
    if !state.inputs.is_empty() || state.text.is_some() {
        let inputs = state.inputs.iter().map(|input| to_python(py, input)).collect::<PyResult<Vec<_>>>()?;
        list.append(PyList::new(py, inputs)?)?;
    }
    if let Some(text) = &state.text {
        list.append(&**text)?;
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
    let (numbers, inputs, text) = match rest {
        [] => return Ok(Mark::default().behind(skip)),
        [numbers] => (numbers, None, None),
        [numbers, inputs] => (numbers, Some(inputs), None),
        [numbers, inputs, text] => (numbers, Some(inputs), Some(text)),
        _ => return Err(wrong()),
    };
    let inputs: Vec<Mark> = match inputs {
        Some(_) if depth == MAX_DEPTH => return Err(wrong()),
        Some(inputs) => {
            inputs.cast::<PyList>()?.iter().map(|input| read(&input, depth + 1)).collect::<PyResult<_>>()?
        }
        None => Vec::new(),
    };
    let text = text.map(|text| text.extract::<String>()).transpose()?.map(Arc::from);
    let numbers: Vec<u64> = numbers.cast::<PyList>()?.extract()?;
    Ok(Mark::at(State { numbers: numbers.into(), inputs: inputs.into(), text }, skip))
}
