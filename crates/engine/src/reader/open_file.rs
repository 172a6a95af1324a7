//! The file a reader is reading: where it is in it, and how reading it has failed.

use super::Records;
use super::format::{Format, Numbering, Position, Record, RecordFile};
use super::name::{FileName, Keys};
use crate::error::{Error, Result};
use bytes::Bytes;

/// An open file, read record by record. Once a read has failed, all others fail in the same way.
pub struct OpenFile {
    name: FileName,
    keys: Keys,
    numbering: Numbering,
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
        Ok(Self { name, keys, numbering: format.numbering(), records, position: at.unwrap_or_default(), failure: None })
    }

    /// Adds up to `limit` records to `records`; says whether the file is known to have ended. What was read before some
    /// damage is good; the next read fails then.
    pub fn read(&mut self, limit: usize, wants_keys: bool, records: &mut Records) -> Result<bool> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let Self { name, keys, position, .. } = self;
        let result = self.records.next_up_to(position.record, limit, &mut |record| {
            position.record += 1;
            position.offset_bytes = record.next_bytes;
            if wants_keys {
                records.keys.push(record.number.map_or_else(|| name.bytes().clone(), |number| keys.key(number)));
            }
            records.offsets_bytes.push(record.offset_bytes);
            records.values.push(record.value);
        });
        result.or_else(|error| match (self.failure.insert(error), records.values.is_empty()) {
            (_, false) => Ok(false),
            (failure, true) => Err(failure.clone()),
        })
    }

    /// The next record, or `None` at the end.
    pub fn read_one(&mut self) -> Result<Option<Record>> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let record = self.records.next(self.position.record).map_err(|error| self.failure.insert(error).clone())?;
        if let Some(record) = &record {
            self.position = Position { record: self.position.record + 1, offset_bytes: record.next_bytes };
        }
        Ok(record)
    }

    /// The key of a record of this file.
    pub fn key(&self, record: &Record) -> Bytes {
        record.number.map_or_else(|| self.name.bytes().clone(), |number| self.keys.key(number))
    }

    /// Whether the file is known to have ended with the record that [`OpenFile::read_one`] has just given.
    pub fn is_over(&self) -> bool {
        self.records.is_over()
    }

    pub fn name(&self) -> &FileName {
        &self.name
    }

    /// How errors count the records.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Where the next record is.
    pub fn position(&self) -> Position {
        self.position
    }
}
