//! Sources of token windows.

use crate::boundary::attrs::dtype;
use crate::pipeline::plan::{Plan, Stage};
use crate::waiting::detach::waiting;
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;
use headrace_pipeline::blocks::file_provenance::FileProvenance;
use headrace_pipeline::formats::{DocumentIndex, TokenFile, Tokens, WindowSize, megatron_head};
use headrace_pipeline::plan;
use headrace_pipeline::stages::tokens::TokenColumns;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

const WINDOWS: Numbering = Numbering { word: "window", first: 0 };

/// A file of tokens.
#[pyclass(frozen, new = "from_fields", module = "headrace._native", name = "TokenFile")]
pub struct TokenFileArgument {
    path: Vec<u8>,
    /// The offset of the first token in bytes.
    first_byte: u64,
    num_tokens: u64,
    /// The kind and the path of the document index, if it is needed.
    index: Option<(String, Vec<u8>)>,
}

impl TokenFileArgument {
    fn index(&self) -> PyResult<Option<DocumentIndex>> {
        let Some((kind, path)) = &self.index else { return Ok(None) };
        match kind.as_str() {
            "megatron" => Ok(Some(DocumentIndex::Megatron(file(path, 0)))),
            "datatrove" => Ok(Some(DocumentIndex::Datatrove(file(path, 0)))),
            _ => Err(PyValueError::new_err(format!("unknown kind of document index: {kind}"))),
        }
    }
}

/// Windows of token files.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct TokenWindows {
    /// The plan for their bytes.
    plan: Py<Plan>,
    /// The stage that converts them to arrays.
    stage: Py<Stage>,
    /// The number of windows in each file.
    counts: Vec<u64>,
    /// The number of tokens after the last windows.
    num_left_out: u64,
}

fn file(path: &[u8], number: u64) -> Arc<FileProvenance> {
    Arc::new(FileProvenance::new(FileName::new(path.to_vec()), WINDOWS, number))
}

/// The dtype number of the tokens in a Megatron index, and their total size in bytes.
#[pyfunction]
pub fn megatron_index(py: Python<'_>, path: &Bound<'_, PyBytes>) -> PyResult<(u8, u64)> {
    let file = file(path.as_bytes(), 0);
    waiting(py, || megatron_head(&file)).map(|head| (head.dtype as u8, head.num_bytes))
}

/// Creates windows of token files. `documents` is "", "mask" or "split". The numbers are checked if
/// `is_checked`.
#[pyfunction]
#[pyo3(signature = (files, code, *, length, stride, documents, is_checked))]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn token_windows(
    py: Python<'_>,
    files: Vec<Bound<'_, TokenFileArgument>>,
    code: u8,
    length: u64,
    stride: u64,
    documents: &str,
    is_checked: bool,
) -> PyResult<TokenWindows> {
    let dtype = dtype(py, code)?;
    let size = WindowSize { length: length.max(1), stride: stride.max(1) };
    let paths: Arc<[_]> = files.iter().zip(0..).map(|(one, number)| file(&one.get().path, number)).collect();
    let files = files.iter().map(Bound::get).map(|file| Ok((file.first_byte, file.num_tokens, file.index()?)));
    let files = files.collect::<PyResult<Vec<_>>>()?;
    let (has_segments, splits) = (documents == "mask", documents == "split");
    let tokens = waiting(py, || {
        let file = |(first, count, index): (u64, u64, Option<DocumentIndex>)| {
            TokenFile::new(first, count, dtype, index.as_ref())
        };
        let files = files.into_iter().map(file).collect::<Result<_, _>>()?;
        Tokens::new(dtype, size, files, splits).map(Arc::new)
    })?;
    let (counts, num_left_out) = (tokens.counts().collect(), tokens.left_out());
    let stage = TokenColumns { tokens: Arc::clone(&tokens), has_segments, is_checked };
    let plan = Py::new(py, Plan(Arc::new(plan::Plan::Files(tokens, paths))))?;
    Ok(TokenWindows { plan, stage: Py::new(py, Stage(Arc::new(stage)))?, counts, num_left_out })
}
