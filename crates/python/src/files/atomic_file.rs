//! Replaces files atomically: the engine's `AtomicFile` for Python.

use crate::error::IntoPython;
use crate::waiting::detach::waiting;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::atomic_file;
use headrace_engine::files::name::FileName;
use headrace_engine::files::output::{Output, WrittenFile};
use pyo3::prelude::*;
use std::io::{self, BufWriter, Write};
use std::process;
use std::sync::{Mutex, PoisonError};

/// A file that is being written, and that replaces the old one when it is published. Errors contain
/// the file name.
#[pyclass(frozen, module = "headrace._native")]
pub struct AtomicFile {
    name: FileName,
    /// `None` once it is published or discarded.
    open: Mutex<Option<Open>>,
    /// The process that is writing it.
    process: u32,
}

struct Open {
    file: atomic_file::AtomicFile,
    output: BufWriter<Output<WrittenFile>>,
}

#[pymethods]
impl AtomicFile {
    #[new]
    fn new(py: Python<'_>, path: &[u8]) -> PyResult<Self> {
        let name = FileName::new(path.to_vec());
        let create = || atomic_file::AtomicFile::create(&name).map_err(|error| Error::io(name.text(), &error));
        let (file, output) = waiting(py, create)?;
        let open = Mutex::new(Some(Open { file, output: BufWriter::new(output) }));
        Ok(Self { name, open, process: process::id() })
    }

    /// Copies the mode of another file. Nothing may have been written yet.
    fn keep_mode_of(&self, py: Python<'_>, path: &[u8]) -> PyResult<()> {
        let other = FileName::new(path.to_vec());
        waiting(py, || self.with_open(|open| open.file.keep_mode_of(&other)))
    }

    /// Appends bytes.
    fn write(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        waiting(py, || self.with_open(|open| open.output.write_all(data)))
    }

    /// Waits until the data is on the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let sync = |open: &mut Open| open.output.flush().and_then(|()| open.output.get_ref().get_ref().sync_data());
        py.detach(|| self.with_open(sync)).into_python(py)
    }

    /// Uploads the data written so far to a remote file. A local file cannot be written after this.
    fn upload(&self, py: Python<'_>) -> PyResult<()> {
        let upload = || self.with_open(|open| open.output.flush().and_then(|()| open.file.publish()));
        waiting(py, upload)
    }

    /// Renames the file to its final name. Nothing can be written after that.
    fn publish(&self, py: Python<'_>) -> PyResult<()> {
        let publish = || {
            self.with_open(|open| open.output.flush().and_then(|()| open.file.publish()))?;
            self.discard();
            Ok(())
        };
        waiting(py, publish)
    }

    /// Removes the file, unless it is published.
    fn discard(&self) {
        drop(self.lock().take());
    }
}

impl AtomicFile {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_open(&self, work: impl FnOnce(&mut Open) -> io::Result<()>) -> Result<()> {
        let mut open = self.lock();
        let name = self.name.text();
        let open = open.as_mut().ok_or_else(|| Error::failed_precondition(format!("{name}: the file is closed")))?;
        work(open).map_err(|error| Error::io(name, &error).with_remedy(open.file.remedy()))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.process != process::id() {
            // In a forked child, the file belongs to the parent, which writes the buffered bytes.
            std::mem::forget(self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
