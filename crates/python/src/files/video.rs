//! The frames of video files.

use crate::boundary::bytes::python_bytes;
use crate::error::IntoPython;
use crate::pipeline;
use crate::waiting::detach::waiting;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::tensor::allocate;
use headrace_pipeline::index::IndexFiles;
use headrace_pipeline::index::index_files::is_unchanged;
use headrace_video::{KIND, VideoData};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::sync::Arc;

/// The video track of a file. Nothing changes after it is opened.
#[pyclass(frozen, module = "headrace._native")]
pub struct Video {
    video: headrace_video::Video,
    data: VideoData,
    /// The name of the file in messages.
    name: String,
}

impl Video {
    fn read(name: String, data: VideoData) -> Result<Self> {
        let video = headrace_video::Video::read(&data).map_err(|error| in_file(&name, &error))?;
        Ok(Self { video, data, name })
    }

    /// Opens a file. Its tables come from an index file if possible; otherwise, one is written.
    fn open(file: &FileName, indexes: &IndexFiles) -> Result<Self> {
        let (data, status) = VideoData::open(file)?;
        let name = file.text().to_string();
        if let Some(tables) = indexes.find_tables(file, &status, KIND)
            && let Some(video) = headrace_video::Video::of_tables(&tables, data.fingerprint()?)?
        {
            indexes.update(|report| report.num_opened += 1);
            return Ok(Self { video, data, name });
        }
        let identity = indexes.begin(&status);
        let this = Self::read(name, data)?;
        indexes.update(|report| report.num_scanned += 1);
        if let Some(identity) = identity
            && let Some(tables) = this.video.to_tables(this.data.fingerprint()?)?
            && is_unchanged(file, &status)?
        {
            indexes.write_tables(file, KIND, &identity, this.video.frames.len() as u64, &tables);
        }
        Ok(this)
    }
}

/// Returns the same error with the file in front of its message.
fn in_file(name: &str, error: &Error) -> Error {
    match error.code() {
        code @ (Code::DataLoss | Code::InvalidArgument) => Error::new(code, format!("{name}: {}", error.message())),
        // Others may be interrupts, or may be raised by storage.
        _ => error.named(name),
    }
}

fn array<T: numpy::Element>(
    py: Python<'_>,
    count: usize,
    values: impl Iterator<Item = T>,
) -> PyResult<Bound<'_, PyArray1<T>>> {
    let values = allocate::collected(count, values).map_err(|refusal| refusal.at("the frames of a video"));
    Ok(PyArray1::from_vec(py, values.into_python(py)?))
}

#[pymethods]
impl Video {
    /// Opens a file and reads its sample tables, from an index file if there is one.
    #[new]
    #[pyo3(signature = (path, indexes=None))]
    fn new(py: Python<'_>, path: &[u8], indexes: Option<&pipeline::kept::IndexFiles>) -> PyResult<Self> {
        let name = FileName::new(path.to_vec());
        let indexes = indexes.map_or_else(|| Arc::new(IndexFiles::none()), |indexes| Arc::clone(&indexes.0));
        waiting(py, || Self::open(&name, &indexes))
    }

    /// Reads the sample tables of a file in memory. `name` is for messages.
    #[staticmethod]
    fn of_contents(py: Python<'_>, contents: &[u8], name: String) -> PyResult<Self> {
        let copied = allocate::copied(contents).map_err(|refusal| refusal.at(&name)).into_python(py)?;
        waiting(py, || Self::read(name, VideoData::Memory(copied)))
    }

    /// The name of the codec in FFmpeg.
    #[getter]
    fn codec(&self) -> &'static str {
        self.video.codec
    }

    /// The decoder's configuration.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        python_bytes(py, &self.video.config)
    }

    /// The width and the height of an encoded picture in pixels.
    #[getter]
    fn size(&self) -> (u16, u16) {
        (self.video.width, self.video.height)
    }

    /// How far to rotate each picture clockwise, in degrees.
    #[getter]
    fn rotation(&self) -> u16 {
        self.video.rotation
    }

    /// The number of time units per second.
    #[getter]
    fn timescale(&self) -> u32 {
        self.video.timescale
    }

    /// When each frame is shown, in time units.
    fn frame_times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let frames = &self.video.frames;
        array(py, frames.len(), frames.iter().map(|frame| frame.time))
    }

    /// The sample of each frame.
    fn frame_samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let frames = &self.video.frames;
        array(py, frames.len(), frames.iter().map(|frame| i64::from(frame.sample)))
    }

    /// When each sample is shown, before edits, in time units.
    fn sample_times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let samples = &self.video.samples;
        array(py, samples.len(), samples.iter().map(|sample| sample.time))
    }

    /// How long each sample is shown, in time units.
    fn sample_durations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let samples = &self.video.samples;
        array(py, samples.len(), samples.iter().map(|sample| i64::from(sample.duration)))
    }

    /// Whether a decoder can start at each sample.
    fn keyframes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let samples = &self.video.samples;
        array(py, samples.len(), samples.iter().map(|sample| sample.is_keyframe))
    }

    /// The sample from which to decode each sample.
    fn starts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let starts = waiting(py, || Ok(self.video.starts()))?;
        array(py, starts.len(), starts.into_iter().map(i64::from))
    }

    /// Reads the bytes of the samples from `first` up to `end`.
    fn read_samples<'py>(&self, py: Python<'py>, first: usize, end: usize) -> PyResult<Bound<'py, PyList>> {
        let read = || {
            let samples = self.video.read_samples(&self.data, first..end);
            samples.map_err(|error| in_file(&self.name, &error))
        };
        let samples = waiting(py, read)?;
        let contents: Vec<_> = samples.iter().map(|sample| python_bytes(py, sample)).collect::<PyResult<_>>()?;
        PyList::new(py, contents)
    }
}
