//! Whole files as records. A key is the path.
//!
//! Source: `tf.WholeFileReader` of TensorFlow 1.15.

use super::format::{Format, Position, Record, RecordFile};
use crate::error::{Error, Result, Wait};
use crate::files::input::{Input, error_of_wait};
use crate::files::name::FileName;
use crate::files::storage::Status;
use crate::tensor::allocate::{self, Unread};
use bytes::Bytes;
use std::io::Read;

/// Files that are one record each.
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

/// All bytes of a file.
pub fn read_whole_file(name: &FileName) -> Result<Bytes> {
    read_to_end(name, name.open()?)
}

/// All bytes of an open file.
pub fn read_to_end(name: &FileName, (mut file, status): (Input, Status)) -> Result<Bytes> {
    read_rest(name, &mut file, status.len)
}

/// Reads the rest of a file. `length_bytes` is the expected number of bytes, 0 for a pipe.
#[expect(clippy::disallowed_methods, reason = "there is room for a file of this length")]
pub(super) fn read_rest(name: &FileName, file: &mut impl Read, length_bytes: u64) -> Result<Bytes> {
    let mut bytes = Vec::new();
    let read = match usize::try_from(length_bytes).unwrap_or(usize::MAX) {
        0 => allocate::read_to_end(file, &mut bytes),
        length => allocate::reserve(&mut bytes, length)
            .map_err(Unread::Refused)
            .and_then(|()| file.read_to_end(&mut bytes).map(drop).map_err(Unread::Failed)),
    };
    read.map_err(|unread| match unread {
        Unread::Refused(refusal) => refusal.at(name.text()),
        Unread::Failed(error) => match error_of_wait(&error) {
            Some(error) if bytes.is_empty() => error.clone(),
            Some(error) => error.clone().of_wait(Wait::CutOff),
            None => Error::io(name.text(), &error),
        },
    })?;
    bytes.shrink_to_fit();
    Ok(bytes.into())
}
