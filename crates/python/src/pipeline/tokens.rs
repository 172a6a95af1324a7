//! Sources of windows of tokens.

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

/// A file: its path, the offset of its first token, the number of its tokens, and the kind and the
/// path of the index of its documents, if they are needed.
type Given<'py> = (Bound<'py, PyBytes>, u64, u64, Option<(String, Bound<'py, PyBytes>)>);

fn file(path: &Bound<'_, PyBytes>, number: u64) -> Arc<FileProvenance> {
    Arc::new(FileProvenance::new(FileName::new(path.as_bytes().to_vec()), WINDOWS, number))
}

/// The number of the type of the tokens that an index of Megatron is of, and the bytes of them all.
#[pyfunction]
pub fn megatron_index(py: Python<'_>, path: &Bound<'_, PyBytes>) -> PyResult<(u8, u64)> {
    let file = file(path, 0);
    waiting(py, || megatron_head(&file)).map(|head| (head.dtype as u8, head.num_bytes))
}

/// Windows of files of tokens: a plan of their bytes, the stage that makes arrays of them, the
/// number of windows of each file, and the number of tokens after the last ones. `size` is the
/// length and the stride. `documents` is "", "mask" or "split". The numbers are checked if
/// `is_checked`.
#[pyfunction]
pub fn token_windows(
    py: Python<'_>,
    files: Vec<Given<'_>>,
    code: u8,
    size: (u64, u64),
    documents: &str,
    is_checked: bool,
) -> PyResult<(Plan, Stage, Vec<u64>, u64)> {
    let dtype = dtype(py, code)?;
    let size = WindowSize { length: size.0.max(1), stride: size.1.max(1) };
    let index = |given: Option<(String, Bound<'_, PyBytes>)>| match given {
        None => Ok(None),
        Some((kind, path)) if kind == "megatron" => Ok(Some(DocumentIndex::Megatron(file(&path, 0)))),
        Some((kind, path)) if kind == "datatrove" => Ok(Some(DocumentIndex::Datatrove(file(&path, 0)))),
        Some((kind, _)) => Err(PyValueError::new_err(format!("there is no index of documents of the kind {kind}"))),
    };
    let paths: Arc<[_]> = files.iter().zip(0..).map(|((path, ..), number)| file(path, number)).collect();
    let given = files.into_iter().map(|(_, first, count, documents)| Ok((first, count, index(documents)?)));
    let given = given.collect::<PyResult<Vec<_>>>()?;
    let (has_segments, splits) = (documents == "mask", documents == "split");
    let tokens = waiting(py, || {
        let file = |(first, count, index): (u64, u64, Option<DocumentIndex>)| {
            TokenFile::new(first, count, dtype, index.as_ref())
        };
        let files = given.into_iter().map(file).collect::<Result<_, _>>()?;
        Tokens::new(dtype, size, files, splits).map(Arc::new)
    })?;
    let (counts, left_out) = (tokens.counts().collect(), tokens.left_out());
    let stage = TokenColumns { tokens: Arc::clone(&tokens), has_segments, is_checked };
    Ok((Plan(Arc::new(plan::Plan::Files(tokens, paths))), Stage(Arc::new(stage)), counts, left_out))
}
