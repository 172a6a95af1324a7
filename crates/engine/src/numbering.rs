//! The names and numbers of records in error messages.

/// The names and numbers of a file's records in error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// The word for a record.
    pub word: &'static str,
    /// The number of the first record.
    pub first: u64,
}

impl Numbering {
    /// Records from 0.
    pub const RECORDS: Self = Self { word: "record", first: 0 };

    /// The name of record number `record`, counted from 0: `record 7`, `line 8`.
    pub fn of(self, record: u64) -> String {
        format!("{} {}", self.word, self.first.saturating_add(record))
    }
}
