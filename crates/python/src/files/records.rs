//! TFRecord files without a graph: writing, iterating, and checksums.

use crate::boundary::bytes::python_bytes;
use crate::error::IntoPython;
use crate::waiting::detach::waiting;
use bytes::Bytes;
use headrace_engine::checksum;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::encoder::DeflateOptions;
use headrace_engine::files::name::FileName;
use headrace_engine::tfrecord::TfRecordWriter;
use headrace_tf1::reader::{OpenFile, Records, TfRecordFormat};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::VecDeque;
use std::process;
use std::sync::Mutex;
use std::sync::PoisonError;

/// CRC-32C of bytes.
#[pyfunction]
pub fn crc32c(data: &[u8]) -> u32 {
    checksum::crc32c(data)
}

/// Writes a TFRecord file. The bool is true if writes may have to wait for a reader. The number is
/// the process ID.
#[pyclass(frozen, module = "headrace._native")]
pub struct RecordWriter(Mutex<Option<TfRecordWriter>>, bool, u32);

#[pymethods]
impl RecordWriter {
    #[new]
    #[pyo3(signature = (path, compression="", *, level=None, method=None, window_bits=None, mem_level=None,
                        strategy=None, flush_mode=None, flush_bytes=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        path: &[u8],
        compression: &str,
        level: Option<i64>,
        method: Option<i64>,
        window_bits: Option<i64>,
        mem_level: Option<i64>,
        strategy: Option<i64>,
        flush_mode: Option<i64>,
        flush_bytes: Option<i64>,
    ) -> PyResult<Self> {
        let name = FileName::new(path.to_vec());
        let options = DeflateOptions { level, method, window_bits, mem_level, strategy, flush_mode, flush_bytes };
        let create = || TfRecordWriter::create(name, self::compression(compression)?, options);
        let writer = waiting(py, create)?;
        let may_wait = writer.may_wait();
        Ok(Self(Mutex::new(Some(writer)), may_wait, process::id()))
    }

    /// Creates a file that can be read while it grows; see the engine's writer.
    #[staticmethod]
    fn create_new(py: Python<'_>, path: &[u8]) -> PyResult<Self> {
        let name = FileName::new(path.to_vec());
        let writer = waiting(py, || TfRecordWriter::create_new(name))?;
        Ok(Self(Mutex::new(Some(writer)), false, process::id()))
    }

    /// Appends a record. Returns whether the writer was open.
    fn write(&self, py: Python<'_>, record: &[u8]) -> PyResult<bool> {
        let write = || self.lock().as_mut().map(|writer| writer.write(record)).transpose();
        // Checking for signals costs more than appending a record.
        let written = if self.1 { waiting(py, write)? } else { py.detach(write).into_python(py)? };
        Ok(written.is_some())
    }

    /// Flushes all records to the file. Returns whether the writer was open.
    fn flush(&self, py: Python<'_>) -> PyResult<bool> {
        let flush = || self.lock().as_mut().map(TfRecordWriter::flush).transpose();
        Ok(waiting(py, flush)?.is_some())
    }

    /// Closes the writer and removes the file, unless it already has its final name.
    fn discard(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }

    /// Completes the file. Returns whether the writer was open.
    fn close(&self, py: Python<'_>) -> PyResult<bool> {
        let close = || self.lock().take().map(TfRecordWriter::finish).transpose();
        Ok(waiting(py, close)?.is_some())
    }
}

impl RecordWriter {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<TfRecordWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        if self.2 != process::id() {
            // In a forked child, the file belongs to the parent, which writes the buffered records
            // and renames it.
            std::mem::forget(self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take());
            return;
        }
        // As in TensorFlow, forgetting to close the writer loses no records. Errors cannot be
        // raised here.
        self.lock().take().map_or(Ok(()), TfRecordWriter::finish).unwrap_or_default();
    }
}

/// Iterates over the records of a TFRecord file.
#[pyclass(frozen, module = "headrace._native")]
pub struct RecordIterator(Mutex<Iteration>);

struct Iteration {
    file: OpenFile,
    /// Records that were read ahead, because releasing the GIL for each of them would cost more
    /// than reading it.
    ready: VecDeque<Bytes>,
}

/// The maximum number of records to read ahead. Their total size has a separate limit.
const AHEAD_RECORDS: usize = 64;
const AHEAD_BYTES: usize = 256 * 1024;

#[pymethods]
impl RecordIterator {
    #[new]
    #[pyo3(signature = (path, compression=""))]
    fn new(py: Python<'_>, path: &[u8], compression: &str) -> PyResult<Self> {
        let name = FileName::new(path.to_vec());
        let open = || {
            let format = TfRecordFormat { compression: self::compression(compression)? };
            OpenFile::open(&format, name, None)
        };
        let file = waiting(py, open)?;
        Ok(Self(Mutex::new(Iteration { file, ready: VecDeque::new() })))
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let ready = self.0.try_lock().ok().and_then(|mut iteration| iteration.ready.pop_front());
        let record = match ready {
            Some(record) => Some(record),
            None => waiting(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).next())?,
        };
        record.map(|record| python_bytes(py, &record)).transpose()
    }
}

impl Iteration {
    fn next(&mut self) -> Result<Option<Bytes>> {
        let mut length = 0;
        while self.ready.len() < AHEAD_RECORDS && length < AHEAD_BYTES {
            let mut records = Records::default();
            match self.file.read(1, false, &mut records) {
                // The error is raised again once the earlier records are consumed, except for
                // interrupts, which are only raised once.
                Err(error) if error.wait().is_none() && !self.ready.is_empty() => break,
                Err(error) => return Err(error),
                Ok(_) => {
                    let Some(record) = records.values.pop() else { break };
                    length += record.len();
                    self.ready.push_back(record);
                }
            }
        }
        Ok(self.ready.pop_front())
    }
}

fn compression(name: &str) -> Result<Compression> {
    Compression::from_name(name).ok_or_else(|| Error::internal(format!("unknown compression {name}")))
}
