//! Index files, which store the positions of records between programs.

use crate::pipeline::kept::IndexFiles;
use crate::pipeline::plan::Plan;
use crate::waiting::detach::waiting;
use headrace_engine::error::Error;
use headrace_engine::files::name::FileName;
use headrace_pipeline::blocks::block::FileProvenance;
use headrace_pipeline::index::sidecar::Stamp;
use headrace_pipeline::index::{FileIndex, index_files};
use headrace_pipeline::records::{Format, RandomAccess};
use headrace_pipeline::{index, plan};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// The content of an index.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct IndexContent {
    kind: String,
    /// The length of its file in bytes.
    file_bytes: u64,
    /// The modification time of its file in seconds and nanoseconds, or its tag.
    modified: Option<(i64, u32)>,
    tag: Option<String>,
    num_records: u64,
    /// True if the whole index is undamaged.
    is_whole: bool,
}

/// An index file of one of a source's files.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct IndexFile {
    path: Vec<u8>,
    num_records: u64,
    /// True if it was written just now.
    is_new: bool,
}

/// Reads the number of records of each file of a source from its index. Stops with `None` at the
/// first file without an index.
#[pyfunction]
pub fn index_counts(py: Python<'_>, index_files: &IndexFiles, source: &Plan) -> PyResult<Vec<Option<u64>>> {
    let (format, files) = files_of(source)?;
    let index_files = Arc::clone(&index_files.0);
    waiting(py, || {
        let access = access(&format)?;
        let mut counts = Vec::new();
        for file in &*files {
            let index = FileIndex::from_index_file(&*access, file, &index_files)?;
            counts.push(index.as_ref().map(FileIndex::len));
            if index.is_none() {
                break;
            }
        }
        Ok(counts)
    })
}

/// The files of a source, and their format.
type SourceFiles = (Arc<dyn Format>, Arc<[Arc<FileProvenance>]>);

fn files_of(source: &Plan) -> PyResult<SourceFiles> {
    match &*source.0 {
        plan::Plan::Files(format, files) => Ok((Arc::clone(format), Arc::clone(files))),
        _ => Err(PyValueError::new_err("this source has no files of a format")),
    }
}

fn access(format: &Arc<dyn Format>) -> headrace_engine::error::Result<Arc<dyn RandomAccess>> {
    let none = || Error::internal("this format has no random access to its records");
    Arc::clone(format).random_access().ok_or_else(none)
}

/// Writes the index of one of a source's files, next to the file or into a directory, unless it
/// exists.
#[pyfunction]
pub fn make_index(py: Python<'_>, source: &Plan, number: usize, directory: Option<PathBuf>) -> PyResult<IndexFile> {
    let (format, files) = files_of(source)?;
    let file = files.get(number).ok_or_else(|| PyValueError::new_err(format!("file {number} does not exist")))?;
    let (path, num_records, is_new) = waiting(py, || {
        let access = access(&format)?;
        let kind = access.kind().unwrap_or_default();
        let target = index_files::target(&file.name, &kind, directory.as_deref()).ok_or_else(|| {
            let text = "an index cannot be stored beside a URL with a query. Set a directory for it";
            Error::invalid_argument(format!("{}: {text}", file.name.text()))
        })?;
        let target = FileName::new(target);
        let (count, is_new) = index::make_index(&*access, file, &target)?;
        Ok((target, count, is_new))
    })?;
    Ok(IndexFile { path: path.bytes().to_vec(), num_records, is_new })
}

/// Reads a local index file. If it is invalid, returns the reason.
#[pyfunction]
pub fn read_index(py: Python<'_>, path: PathBuf) -> (Option<IndexContent>, Option<String>) {
    let read = || {
        let (header, is_whole) = match index_files::open(&path) {
            Ok(sidecar) => (sidecar.header().clone(), sidecar.is_whole()),
            // The checksum of other tables was checked when they were opened.
            Err(error) => (index_files::open_tables(&path).map_err(|_| error)?.0, true),
        };
        let (modified, tag) = match &header.identity.stamp {
            Stamp::Modified { seconds, nanos } => (Some((*seconds, *nanos)), None),
            Stamp::Tag(tag) => (None, Some(tag.to_string())),
        };
        std::io::Result::Ok(IndexContent {
            kind: header.kind,
            file_bytes: header.identity.len,
            modified,
            tag,
            num_records: header.count,
            is_whole,
        })
    };
    match py.detach(read) {
        Ok(content) => (Some(content), None),
        Err(error) => (None, Some(error.to_string())),
    }
}
