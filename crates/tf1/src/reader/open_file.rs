//! The file that a reader is currently reading, its position, and the error that ended reading.

use super::Records;
use super::format::{Format, Position, Record, RecordFile};
use super::keys::Keys;
use bytes::Bytes;
use headrace_engine::error::{Error, Result, Wait};
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;

/// An open file, which is read record by record. Once a read has failed, all later reads fail in
/// the same way.
pub struct OpenFile {
    name: FileName,
    keys: Keys,
    numbering: Numbering,
    records: Box<dyn RecordFile>,
    position: Position,
    failure: Option<Error>,
    may_wait: bool,
}

impl OpenFile {
    /// Opens a file at its start, or at a saved position.
    pub fn open(format: &dyn Format, name: FileName, at: Option<Position>) -> Result<Self> {
        let at = at.filter(|position| position.record > 0);
        let records = format.open(&name, at)?;
        let keys = Keys::new(&name);
        let (may_wait, numbering) = (records.may_wait(), format.numbering());
        Ok(Self { name, keys, numbering, records, position: at.unwrap_or_default(), failure: None, may_wait })
    }

    /// Appends up to `limit` records to `records`. Returns whether the file is known to have ended.
    /// Records before a damaged one are valid, and the next read fails.
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
        result.or_else(|error| {
            let is_told_later = !records.values.is_empty() && error.wait().is_none();
            let error = self.note(error);
            if is_told_later { Ok(false) } else { Err(error) }
        })
    }

    /// Returns the next record, or `None` at the end.
    pub fn read_one(&mut self) -> Result<Option<Record>> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let record = self.records.next(self.position.record).map_err(|error| self.note(error))?;
        if let Some(record) = &record {
            self.position = Position { record: self.position.record + 1, offset_bytes: record.next_bytes };
        }
        Ok(record)
    }

    /// Keeps `error` for all later reads.
    fn note(&mut self, error: Error) -> Error {
        self.failure = match error.wait() {
            None => Some(error.clone()),
            Some(Wait::Repeatable) => None,
            Some(Wait::CutOff) => Some(Error::data_loss(format!(
                "{}: a cancelled wait left record {} incomplete. Reset the reader.",
                self.name.text(),
                self.position.record
            ))),
        };
        error
    }

    /// Returns true if reading may have to wait for the writer of a pipe.
    pub fn may_wait(&self) -> bool {
        self.may_wait
    }

    /// The key of a record in this file.
    pub fn key(&self, record: &Record) -> Bytes {
        record.number.map_or_else(|| self.name.bytes().clone(), |number| self.keys.key(number))
    }

    /// Returns true if the file is known to end with the record that [`OpenFile::read_one`] has
    /// just returned.
    pub fn is_over(&self) -> bool {
        self.records.is_over()
    }

    /// The name of the file.
    pub fn name(&self) -> &FileName {
        &self.name
    }

    /// How error messages name and count records.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// The position of the next record.
    pub fn position(&self) -> Position {
        self.position
    }
}
