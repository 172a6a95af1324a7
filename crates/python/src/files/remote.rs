//! Local and remote files for Python, and listings of remote storages.

use crate::boundary::bytes::python_bytes;
use crate::waiting::detach::waiting;
use headrace_engine::error::Error;
use headrace_engine::files::input::Input;
use headrace_engine::files::name::FileName;
use headrace_engine::tensor::allocate;
use headrace_remote::Entry;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// The number of bytes to read at once from a file of unknown length.
const PART_BYTES: usize = 1 << 20;

/// A file or directory in a remote storage.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct RemoteEntry {
    url: String,
    /// The size in bytes, or -1 if the server does not report it.
    num_bytes: i64,
    /// The time of its last write in nanoseconds since 1970.
    modified_ns: u64,
    is_directory: bool,
}

impl From<Entry> for RemoteEntry {
    fn from(Entry { url, len, modified_ns, is_directory }: Entry) -> Self {
        // A length that no file can have means that the length is unknown.
        Self { url, num_bytes: i64::try_from(len).unwrap_or(-1), modified_ns, is_directory }
    }
}

/// Returns the storage entries of these URLs, or None for missing files.
#[pyfunction]
pub fn remote_statuses(py: Python<'_>, urls: Vec<String>) -> PyResult<Vec<Option<RemoteEntry>>> {
    let entries = waiting(py, || headrace_remote::statuses(urls))?;
    Ok(entries.into_iter().map(|entry| entry.map(RemoteEntry::from)).collect())
}

/// Returns true if there are any files below this name, and false for a server that cannot list
/// files.
#[pyfunction]
pub fn remote_is_directory(py: Python<'_>, url: String) -> PyResult<bool> {
    waiting(py, || headrace_remote::is_directory(url))
}

/// Lists a directory by name. If `is_deep`, lists all files below it and no directories.
#[pyfunction]
pub fn remote_list(py: Python<'_>, url: String, is_deep: bool) -> PyResult<Vec<RemoteEntry>> {
    Ok(waiting(py, || headrace_remote::list(url, is_deep))?.into_iter().map(RemoteEntry::from).collect())
}

/// Returns the commit to which the revision in a hub URL currently points, or None if there are no
/// revisions.
#[pyfunction]
pub fn remote_revision(py: Python<'_>, url: String) -> PyResult<Option<String>> {
    waiting(py, || headrace_remote::revision(url))
}

/// Removes a file.
#[pyfunction]
pub fn remote_remove(py: Python<'_>, url: String) -> PyResult<()> {
    waiting(py, || headrace_remote::remove(url))
}

/// Copies a file within a storage.
#[pyfunction]
pub fn remote_copy(py: Python<'_>, source: String, target: String) -> PyResult<()> {
    waiting(py, || headrace_remote::copy(source, target))
}

/// A remote file opened for reading.
#[pyclass(frozen, module = "headrace._native")]
pub struct RemoteFile {
    name: FileName,
    /// The size in bytes, or 0 if the server does not report it.
    #[pyo3(get)]
    size: u64,
    /// True if it can be read at any offset.
    #[pyo3(get)]
    seekable: bool,
    input: Mutex<Input>,
}

#[pymethods]
impl RemoteFile {
    #[new]
    fn new(py: Python<'_>, url: &[u8]) -> PyResult<Self> {
        let name = FileName::new(url.to_vec());
        let (input, status) = waiting(py, || name.open())?;
        Ok(Self { name, size: status.len, seekable: status.is_regular, input: Mutex::new(input) })
    }

    /// Reads up to `count` bytes, and fewer only at the end.
    fn read<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = || {
            let is_known = self.seekable || self.size > 0;
            let most = if is_known { usize::try_from(self.size).unwrap_or(usize::MAX) } else { PART_BYTES };
            let count = count.min(most);
            let mut bytes = allocate::room(count).map_err(|refusal| refusal.at(self.name.text()))?;
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            let read = input.by_ref().take(count as u64).read_to_end(&mut bytes);
            read.map_err(|error| Error::io(self.name.text(), &error))?;
            Ok(bytes)
        };
        waiting(py, read).and_then(|bytes: Vec<u8>| python_bytes(py, &bytes))
    }

    /// Sets the offset of the next read.
    fn seek(&self, py: Python<'_>, offset: u64) -> PyResult<()> {
        let seek = || {
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            input.seek(SeekFrom::Start(offset)).map(drop).map_err(|error| Error::io(self.name.text(), &error))
        };
        waiting(py, seek)
    }
}
