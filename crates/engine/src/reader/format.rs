//! What a file format does for a reader: opening files and finding records.

use crate::error::Result;
use crate::files::name::FileName;
use crate::files::numbering::Numbering;
use bytes::Bytes;

/// One record of a file.
pub struct Record {
    /// The number behind the path in the record's key: `PATH:LINE`, `PATH:OFFSET`. Without it the key is the path.
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

    /// How errors count the records.
    fn numbering(&self) -> Numbering {
        Numbering::RECORDS
    }

    /// Opens a file at its first record, or where an earlier reader of the same kind was in it.
    fn open(&self, name: &FileName, at: Option<Position>) -> Result<Box<dyn RecordFile>>;
}

/// An open file. It is not used any more after an error.
pub trait RecordFile: Send {
    /// The next record, whose number is `number`, or `None` at the end.
    fn next(&mut self, number: u64) -> Result<Option<Record>>;

    /// Whether the file is known to have ended with the record just given.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether reading may have to wait, for the writer of a pipe.
    fn may_wait(&self) -> bool {
        false
    }

    /// Passes up to `limit` records to `take`, beginning with record `number`. Returns whether the file is known to
    /// have ended. Records before an error are good.
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
