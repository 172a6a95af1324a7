//! Data that a pipeline's description keeps between iterations, and index files. A copied or
//! unpickled description starts empty.

use headrace_engine::files::name::FileName;
use headrace_pipeline::index::index_files::Mode;
use headrace_pipeline::index::{self, KeptBorders, KeptIndexes};
use headrace_pipeline::nodes::cache::Store;
use headrace_pipeline::nodes::disk_cache::store::DiskStore;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The examples stored by a `cache()` stage.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Default)]
pub struct Cache(pub Arc<Store>);

#[pymethods]
impl Cache {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> (Bound<'py, PyAny>, ()) {
        (slf.get_type().into_any(), ())
    }
}

/// The files of a `cache(directory=...)` stage, for one iteration.
#[pyclass(frozen, module = "headrace._native")]
pub struct DiskCache(pub Arc<DiskStore>);

#[pymethods]
impl DiskCache {
    /// `key` is a hash of the description of the examples, which are read from `files`. All caches
    /// in the directory may use up to `num_bytes` in total. If `is_off`, nothing is read or stored.
    #[new]
    fn new(directory: PathBuf, num_bytes: Option<u64>, key: String, files: Vec<Vec<u8>>, is_off: bool) -> Self {
        let files = files.into_iter().map(FileName::new).collect();
        Self(Arc::new(DiskStore::new(directory, num_bytes.unwrap_or(u64::MAX), key, files, is_off)))
    }

    /// The messages for the user since the last call.
    fn messages(&self) -> Vec<String> {
        self.0.take_messages()
    }

    /// The path of a small file about these examples, which may not exist. None if the identities
    /// of the files are unavailable. It counts as one of the directory's caches.
    fn note_path(&self, py: Python<'_>) -> Option<OsString> {
        py.detach(|| self.0.note_path()).map(PathBuf::into_os_string)
    }
}

/// The record offsets of files, for a full shuffle, and the boundaries of their pieces, for a
/// windowed shuffle.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Default)]
pub struct Index(pub Arc<KeptIndexes>, pub Arc<KeptBorders>);

#[pymethods]
impl Index {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The scanned files.
    fn counts(&self) -> Vec<ScannedFile> {
        self.0.counts().into_iter().map(ScannedFile::from).collect()
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> (Bound<'py, PyAny>, ()) {
        (slf.get_type().into_any(), ())
    }
}

/// A file whose records were counted by a scan.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct ScannedFile {
    /// The part of the description.
    part: usize,
    path: Vec<u8>,
    num_bytes: u64,
    num_records: u64,
}

impl From<(usize, bytes::Bytes, u64, u64)> for ScannedFile {
    fn from((part, path, num_bytes, num_records): (usize, bytes::Bytes, u64, u64)) -> Self {
        Self { part, path: path.to_vec(), num_bytes, num_records }
    }
}

/// The index files of one iteration.
#[pyclass(frozen, module = "headrace._native")]
pub struct IndexFiles(pub Arc<index::IndexFiles>);

/// How an iteration used indexes.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct IndexReport {
    /// The numbers of files whose positions were kept, opened and scanned.
    num_kept: u64,
    num_opened: u64,
    num_scanned: u64,
    scanned_bytes: u64,
    /// The number of indexes written.
    num_written: u64,
    /// The directories of indexes.
    directories: Vec<PathBuf>,
    /// Why an index could not be written, if that happened.
    failure: Option<String>,
}

#[pymethods]
impl IndexFiles {
    /// `mode` is "auto", "memory" or "off". Indexes that cannot be stored next to their files go to
    /// the first directory that is writable.
    #[new]
    fn new(mode: &str, directories: Vec<PathBuf>) -> PyResult<Self> {
        let mode = match mode {
            "auto" => Mode::Auto,
            "memory" => Mode::Memory,
            "off" => Mode::Off,
            _ => return Err(PyValueError::new_err("mode must be auto, memory or off")),
        };
        Ok(Self(Arc::new(index::IndexFiles::new(mode, directories))))
    }

    fn report(&self) -> IndexReport {
        let report = self.0.report();
        IndexReport {
            num_kept: report.num_kept,
            num_opened: report.num_opened,
            num_scanned: report.num_scanned,
            scanned_bytes: report.scanned_bytes,
            num_written: report.num_written,
            directories: report.directories.into_iter().collect(),
            failure: report.failure,
        }
    }
}
