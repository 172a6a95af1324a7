//! The file a reader is reading: where it is in it, and how reading it has failed.

use super::format::{Format, Position, Record, RecordFile};
use super::name::{FileName, Keys};
use crate::error::{Error, Result};
use bytes::Bytes;

/// An open file, read record by record. Once a read has failed, all others fail in the same way.
pub struct OpenFile {
    name: FileName,
    keys: Keys,
    records: Box<dyn RecordFile>,
    position: Position,
    failure: Option<Error>,
}

impl OpenFile {
    /// Opens a file at its start, or where an earlier reader was in it.
    pub fn open(format: &dyn Format, name: FileName, at: Option<Position>) -> Result<Self> {
        let at = at.filter(|position| position.record > 0);
        let records = format.open(&name, at)?;
        let keys = Keys::new(&name);
        Ok(Self { name, keys, records, position: at.unwrap_or_default(), failure: None })
    }

    /// The next record, or `None` at the end.
    pub fn read(&mut self) -> Result<Option<Record>> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        match self.records.next(self.position.record) {
            Ok(Some(record)) => {
                self.position = Position { record: self.position.record + 1, offset_bytes: record.next_bytes };
                Ok(Some(record))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(self.failure.insert(error).clone()),
        }
    }

    /// The key of a record of this file.
    pub fn key(&self, record: &Record) -> Bytes {
        record.number.map_or_else(|| self.name.bytes().clone(), |number| self.keys.key(number))
    }

    /// Whether the file is known to have ended with the record just given.
    pub fn is_over(&self) -> bool {
        self.records.is_over()
    }

    pub fn name(&self) -> &FileName {
        &self.name
    }

    /// Where the next record is.
    pub fn position(&self) -> Position {
        self.position
    }
}
