//! Marks of pipelines as Python has them: a flat list, which JSON and pickle take however long the pipeline is.

use headrace_engine::pipeline::mark::{Mark, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// Marks that lie deeper in each other are none of a pipeline: each stage has few.
const MAX_DEPTH: usize = 4_000;

/// Each mark behind those of its inputs, as `[skip, numbers, number of inputs, text]` without what is 0 or missing at its
/// end. The beginning is `[skip]`.
pub fn to_python<'py>(py: Python<'py>, mark: &Mark) -> PyResult<Bound<'py, PyList>> {
    // From the last one to the first: each before its inputs, of which the last comes first.
    let mut marks = Vec::new();
    let mut waiting = vec![mark];
    while let Some(mark) = waiting.pop() {
        waiting.extend(mark.state().map_or(&[][..], |state| &state.inputs));
        marks.push(mark);
    }
    let lists = marks.iter().rev().map(|mark| to_list(py, mark)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, lists)
}

fn to_list<'py>(py: Python<'py>, mark: &Mark) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::new(py, [mark.skip()])?;
    let Some(state) = mark.state() else { return Ok(list) };
    list.append(PyList::new(py, state.numbers.iter())?)?;
    if !state.inputs.is_empty() || state.text.is_some() {
        list.append(state.inputs.len())?;
    }
    if let Some(text) = &state.text {
        list.append(&**text)?;
    }
    Ok(list)
}

/// Reads what [`to_python`] has made. Fails with a ValueError if it is something else.
pub fn from_python(marks: &Bound<'_, PyAny>) -> PyResult<Mark> {
    read(marks).map_err(|_| PyValueError::new_err("its place is none that a pipeline gives"))
}

fn read(marks: &Bound<'_, PyAny>) -> PyResult<Mark> {
    let wrong = || PyValueError::new_err("");
    // Marks that are no input yet, each with how deep others lie in it.
    let mut free: Vec<(Mark, usize)> = Vec::new();
    for mark in marks.cast::<PyList>()? {
        let parts: Vec<Bound<'_, PyAny>> = mark.cast::<PyList>()?.extract()?;
        let (first, rest) = parts.split_first().ok_or_else(wrong)?;
        let skip: u64 = first.extract()?;
        let (numbers, num_inputs, text) = match rest {
            [] => {
                free.push((Mark::default().behind(skip), 0));
                continue;
            }
            [numbers] => (numbers, 0, None),
            [numbers, num_inputs] => (numbers, num_inputs.extract()?, None),
            [numbers, num_inputs, text] => (numbers, num_inputs.extract()?, Some(text.extract::<String>()?)),
            _ => return Err(wrong()),
        };
        let start = free.len().checked_sub(num_inputs).ok_or_else(wrong)?;
        let depth = free[start..].iter().map(|(_, depth)| depth + 1).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(wrong());
        }
        let inputs = free.drain(start..).map(|(input, _)| input).collect();
        let numbers: Vec<u64> = numbers.cast::<PyList>()?.extract()?;
        free.push((Mark::at(State { numbers: numbers.into(), inputs, text: text.map(Arc::from) }, skip), depth));
    }
    match (free.pop(), free.is_empty()) {
        (Some((mark, _)), true) => Ok(mark),
        _ => Err(wrong()),
    }
}
