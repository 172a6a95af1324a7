//! What a file format has to tell a reader: how to open a file, and where its next record is.

use crate::error::{Error, Result};
use bytes::Bytes;
use std::fs::File;
use std::sync::Arc;

/// One record of a file.
pub struct Record {
    /// What names the record to a user: `PATH:LINE`, `PATH:OFFSET`.
    pub key: Bytes,
    pub value: Bytes,
    /// Offset of the record's first byte in the (uncompressed) file.
    pub offset_bytes: u64,
}

/// A kind of file.
pub trait Format: Send + Sync {
    fn open(&self, path: &Arc<str>) -> Result<Box<dyn RecordFile>>;
}

/// An open file.
pub trait RecordFile: Send {
    /// The next record, whose number is `number`, or `None` at the end. After an error, the same error again.
    fn next(&mut self, number: u64) -> Result<Option<Record>>;
}

/// Opens a regular file for reading; the error is in the words of TensorFlow.
pub fn open_file(path: &str) -> Result<(File, u64)> {
    let open = || {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(std::io::ErrorKind::IsADirectory.into());
        }
        Ok((file, metadata.len()))
    };
    open().map_err(|error| Error::io(path, &error))
}
