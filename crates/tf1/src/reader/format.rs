//! The interface of a file format: opening files and finding records.

use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;

/// One record of a file.
pub struct Record {
    /// The number in the record's key: `PATH:LINE` or `PATH:OFFSET`. Without it the key is the
    /// path.
    pub number: Option<u64>,
    /// The bytes of the record.
    pub value: Bytes,
    /// Offset of the record's first byte in the (uncompressed) file.
    pub offset_bytes: u64,
    /// Offset of the end of the record.
    pub next_bytes: u64,
}

/// A position between two records of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Number of the next record, from 0.
    pub record: u64,
    /// Offset of the next record in the (uncompressed) file.
    pub offset_bytes: u64,
}

/// A file format.
pub trait Format: Send + Sync {
    /// The class of its readers in TensorFlow, for error messages.
    fn class(&self) -> &'static str;

    /// The names and numbers of records in errors.
    fn numbering(&self) -> Numbering {
        Numbering::RECORDS
    }

    /// Opens a file at its first record, or at the position that an earlier reader of the same kind
    /// saved.
    fn open(&self, name: &FileName, at: Option<Position>) -> Result<Box<dyn RecordFile>>;
}

/// An open file. It must not be used after an error.
pub trait RecordFile: Send {
    /// The next record, which is record number `number`; `None` at the end.
    fn next(&mut self, number: u64) -> Result<Option<Record>>;

    /// True if the file is known to have ended with the record just returned.
    fn is_over(&self) -> bool {
        false
    }

    /// True if reading may have to wait for the writer of a pipe.
    fn may_wait(&self) -> bool {
        false
    }

    /// Passes up to `limit` records to `take`, beginning with record `number`. Returns whether the
    /// file is known to have ended. The records passed before an error are valid.
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
