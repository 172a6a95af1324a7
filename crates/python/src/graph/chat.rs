//! Information about chat templates that Python needs before a pipeline starts.

use crate::waiting::detach::waiting;
use headrace_engine::kernels::strings::chat::Chat;
use pyo3::prelude::*;

/// The special token after the text of the assistant that a template does not train, if any. `path`
/// and `content` are attributes of the operation `Chat`.
#[pyfunction]
pub fn untrained_end_of_turn(py: Python<'_>, path: &[u8], content: &[u8]) -> PyResult<Option<String>> {
    waiting(py, || Ok(Chat::new(path, content)?.untrained_end_of_turn()))
}
