//! Reads whole files.

use crate::error::{Error, Result, Wait};
use crate::files::input::{Input, error_of_wait};
use crate::files::name::FileName;
use crate::files::storage::Status;
use crate::tensor::allocate::{self, Unread};
use bytes::Bytes;
use std::io::Read;

/// Returns all bytes of a file.
pub fn read_whole_file(name: &FileName) -> Result<Bytes> {
    read_to_end(name, name.open()?)
}

/// Returns all bytes of an open file.
pub fn read_to_end(name: &FileName, (mut file, status): (Input, Status)) -> Result<Bytes> {
    read_rest(name, &mut file, status.len)
}

/// Reads the rest of a file. `length_bytes` is the expected number of bytes, or 0 for a pipe.
#[expect(clippy::disallowed_methods, reason = "there is room for a file of this length")]
pub fn read_rest(name: &FileName, file: &mut impl Read, length_bytes: u64) -> Result<Bytes> {
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
