//! Converts checkpoints to flat Python lists, which JSON and pickle accept even for long
//! pipelines.

use headrace_pipeline::checkpoint::{Checkpoint, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// The maximum nesting depth of a checkpoint. No pipeline needs more, because each stage only adds
/// a few levels.
const MAX_DEPTH: usize = 4_000;

/// Converts a checkpoint to a list of checkpoints, each after its inputs. Each item is `[skip,
/// numbers, number of inputs, text]` without trailing zeros and missing values. The beginning is
/// `[skip]`.
pub fn to_python<'py>(py: Python<'py>, checkpoint: &Checkpoint) -> PyResult<Bound<'py, PyList>> {
    // From last to first: each one comes before its inputs, and these are in reverse order.
    let mut checkpoints = Vec::new();
    let mut waiting = vec![checkpoint];
    while let Some(checkpoint) = waiting.pop() {
        waiting.extend(checkpoint.state().map_or(&[][..], |state| &state.inputs));
        checkpoints.push(checkpoint);
    }
    let lists = checkpoints.iter().rev().map(|checkpoint| to_list(py, checkpoint)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, lists)
}

fn to_list<'py>(py: Python<'py>, checkpoint: &Checkpoint) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::new(py, [checkpoint.skip()])?;
    let Some(state) = checkpoint.state() else { return Ok(list) };
    list.append(PyList::new(py, state.numbers.iter())?)?;
    if !state.inputs.is_empty() || state.text.is_some() {
        list.append(state.inputs.len())?;
    }
    if let Some(text) = &state.text {
        list.append(&**text)?;
    }
    Ok(list)
}

/// Parses a list created by [`to_python`]. Fails with a ValueError for anything else.
pub fn from_python(checkpoints: &Bound<'_, PyAny>) -> PyResult<Checkpoint> {
    read(checkpoints).map_err(|_| PyValueError::new_err("its checkpoint was not created by a pipeline"))
}

fn read(checkpoints: &Bound<'_, PyAny>) -> PyResult<Checkpoint> {
    let wrong = || PyValueError::new_err("");
    // Checkpoints that are not inputs yet, with their nesting depths.
    let mut free: Vec<(Checkpoint, usize)> = Vec::new();
    for checkpoint in checkpoints.cast::<PyList>()? {
        let parts: Vec<Bound<'_, PyAny>> = checkpoint.cast::<PyList>()?.extract()?;
        let (first, rest) = parts.split_first().ok_or_else(wrong)?;
        let skip: u64 = first.extract()?;
        let (numbers, num_inputs, text) = match rest {
            [] => {
                free.push((Checkpoint::default().advanced_by(skip), 0));
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
        free.push((Checkpoint::at(State { numbers: numbers.into(), inputs, text: text.map(Arc::from) }, skip), depth));
    }
    match (free.pop(), free.is_empty()) {
        (Some((checkpoint, _)), true) => Ok(checkpoint),
        _ => Err(wrong()),
    }
}
