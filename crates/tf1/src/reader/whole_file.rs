//! Whole files as records. The key is the path.
//!
//! Source: `tf.WholeFileReader` in TensorFlow 1.15.

use super::format::{Format, Position, Record, RecordFile};
use headrace_engine::error::Result;
use headrace_engine::files::input::Input;
use headrace_engine::files::name::FileName;
use headrace_engine::files::whole::read_rest;

/// Files that consist of a single record.
pub struct WholeFileFormat;

impl Format for WholeFileFormat {
    fn class(&self) -> &'static str {
        "WholeFileReader"
    }

    fn open(&self, name: &FileName, _at: Option<Position>) -> Result<Box<dyn RecordFile>> {
        let (file, status) = name.open()?;
        Ok(Box::new(WholeFile { name: name.clone(), file, length_bytes: status.len }))
    }
}

struct WholeFile {
    name: FileName,
    file: Input,
    length_bytes: u64,
}

impl RecordFile for WholeFile {
    fn next(&mut self, _number: u64) -> Result<Option<Record>> {
        let value = read_rest(&self.name, &mut self.file, self.length_bytes)?;
        let next_bytes = value.len() as u64;
        Ok(Some(Record { number: None, value, offset_bytes: 0, next_bytes }))
    }

    fn is_over(&self) -> bool {
        true
    }

    fn may_wait(&self) -> bool {
        self.file.may_wait()
    }
}
