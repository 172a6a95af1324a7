//! The interface of a file format: opens files and splits them into records.

use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;

/// A record of a file.
pub struct Record {
    /// The number in the record's key: `PATH:LINE` or `PATH:OFFSET`. If it is `None`, the key is
    /// the path.
    pub number: Option<u64>,
    /// The bytes of the record.
    pub value: Bytes,
    /// The offset of the record's first byte in the uncompressed file.
    pub offset_bytes: u64,
    /// Offset of the end of the record.
    pub next_bytes: u64,
}

/// A position between two records of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of the next record, from 0.
    pub record: u64,
    /// The offset of the next record in the uncompressed file.
    pub offset_bytes: u64,
}

/// A file format.
pub trait Format: Send + Sync {
    /// TensorFlow's class of reader for this format, for error messages.
    fn class(&self) -> &'static str;

    /// How error messages name and count records.
    fn numbering(&self) -> Numbering {
        Numbering::RECORDS
    }

    /// Opens a file at its first record, or at a position saved by an earlier reader of the same
    /// kind.
    fn open(&self, name: &FileName, at: Option<Position>) -> Result<Box<dyn RecordFile>>;
}

/// An open file. It must not be used after an error.
pub trait RecordFile: Send {
    /// Returns the next record (number `number`), or `None` at the end.
    fn next(&mut self, number: u64) -> Result<Option<Record>>;

    /// Returns true if the file is known to have ended with the record just returned.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns true if reading may have to wait for the writer of a pipe.
    fn may_wait(&self) -> bool {
        false
    }

    /// Passes up to `limit` records to `take`, starting with record `number`. Returns whether the
    /// file is known to have ended. Records passed before an error are valid.
    fn next_up_to(&mut self, number: u64, limit: usize, take: &mut dyn FnMut(Record)) -> Result<bool> {
        for index in 0..limit as u64 {
            match self.next(number + index)? {
                Some(record) => take(record),
                None => return Ok(true),
            }
            if self.is_over() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
