//! How errors count the records of a file.

/// How errors count the records of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// What a record is called.
    pub word: &'static str,
    /// The number of the first one.
    pub first: u64,
}

impl Numbering {
    /// Records from 0.
    pub const RECORDS: Self = Self { word: "record", first: 0 };

    /// What the record of number `record`, from 0, is called: `record 7`, `line 8`.
    pub fn of(self, record: u64) -> String {
        format!("{} {}", self.word, self.first.saturating_add(record))
    }
}
