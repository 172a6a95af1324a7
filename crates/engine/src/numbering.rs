//! How error messages name and count records.

/// How error messages name and count the records of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// The term for a record.
    pub word: &'static str,
    /// The number of the first record.
    pub first: u64,
}

impl Numbering {
    /// Records from 0.
    pub const RECORDS: Self = Self { word: "record", first: 0 };

    /// Names the record at index `record`, for example `record 7` or `line 8`.
    pub fn of(self, record: u64) -> String {
        format!("{} {}", self.word, self.first.saturating_add(record))
    }
}
