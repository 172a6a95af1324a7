//! TFRecord files without a graph: writing, iterating, checksums.

use crate::error::IntoPython;
use headrace_engine::reader::RecordFile;
use headrace_engine::tfrecord::{self, TfRecordFile, TfRecordWriter};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Mutex;
use std::sync::PoisonError;

/// CRC-32C of bytes.
#[pyfunction]
pub fn crc32c(data: &[u8]) -> u32 {
    tfrecord::crc32c(data)
}

/// Writes a TFRecord file.
#[pyclass(frozen, module = "headrace._native")]
pub struct RecordWriter(Mutex<Option<TfRecordWriter>>);

#[pymethods]
impl RecordWriter {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        let writer = py.detach(|| TfRecordWriter::create(path)).into_python(py)?;
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Appends a record; says whether the writer was open.
    fn write(&self, py: Python<'_>, record: &[u8]) -> PyResult<bool> {
        self.with_writer(py, |writer| writer.write(record))
    }

    /// Puts everything written so far under the file's name; says whether the writer was open.
    fn flush(&self, py: Python<'_>) -> PyResult<bool> {
        self.with_writer(py, TfRecordWriter::flush)
    }

    /// Completes the file; says whether the writer was open.
    fn close(&self, py: Python<'_>) -> PyResult<bool> {
        let is_open = self.with_writer(py, TfRecordWriter::flush)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(is_open)
    }
}

impl RecordWriter {
    fn with_writer(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut TfRecordWriter) -> headrace_engine::error::Result<()> + Send,
    ) -> PyResult<bool> {
        let result = py.detach(|| {
            let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map(work).transpose()
        });
        Ok(result.into_python(py)?.is_some())
    }
}

/// Iterates over the records of a TFRecord file.
#[pyclass(frozen, module = "headrace._native")]
pub struct RecordIterator(Mutex<(TfRecordFile, u64)>);

#[pymethods]
impl RecordIterator {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        let file = py.detach(|| TfRecordFile::open(&path.into())).into_python(py)?;
        Ok(Self(Mutex::new((file, 0))))
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let record = py.detach(|| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let (file, number) = &mut *state;
            let record = file.next(*number);
            *number += 1;
            record
        });
        Ok(record.into_python(py)?.map(|record| PyBytes::new(py, &record.value)))
    }
}
