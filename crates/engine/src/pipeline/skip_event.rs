//! What is left out, because it is damaged or a function failed at it. Word of it travels among the rows, at its place: so it
//! comes to the consumer at the same place in every run.

use crate::error::{Code, Error, Lost};
use crate::pipeline::blocks::file_provenance::FileProvenance;
use crate::pipeline::blocks::provenance::RowProvenance;
use crate::pipeline::blocks::rows::Rows;
use crate::pipeline::formats::RecordPosition;
use std::sync::Arc;

/// Word for the consumer, which nodes hand on behind the rows before it.
#[derive(Clone, Debug)]
pub enum SkipEvent {
    /// Something was left out.
    Skipped(Box<Skipped>),
    /// A pass has ended in which so many rows came through a stage that lets failures be left out.
    Passed {
        /// The number of that stage.
        skipper: usize,
        /// How many rows of which pass.
        rows: PassedRows,
    },
}

/// How many rows of a pass came through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedRows {
    /// The number of the pass.
    pub pass: u64,
    /// How many rows.
    pub count: u64,
}

/// A row that was left out, or the rest of a file.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The number of the stage that lets failures be left out.
    pub skipper: usize,
    /// The number of the stage that has failed.
    pub stage: usize,
    /// The record, if it is known.
    pub row_provenance: Option<RowProvenance>,
    /// Where the record begins in its uncompressed file, if it is known.
    pub offset_bytes: Option<u64>,
    /// What happened.
    pub error: Error,
    /// Whether what follows in the file cannot be read either.
    pub ends_file: bool,
    /// How many records are lost, this one included.
    pub lost: Lost,
    /// How many records a scan of all files has found beside it; 0 if there was none.
    pub scanned: u64,
    /// What came through before this.
    pub passed: PassedRows,
}

impl Skipped {
    /// A row that a stage failed at. The file may be read to find out where its record begins.
    pub fn row(skipper: usize, stage: usize, row_provenance: Option<RowProvenance>, error: Error) -> Self {
        let offset_bytes = row_provenance.as_ref().and_then(RowProvenance::offset_bytes);
        let lost = error.lost().unwrap_or(Lost::Records(1));
        let passed = PassedRows::default();
        Self { skipper, stage, row_provenance, offset_bytes, error, ends_file: false, lost, scanned: 0, passed }
    }

    /// What could not be read of a file; with `rest`, the rest of it.
    pub fn damage(
        (skipper, stage): (usize, usize),
        file: &Arc<FileProvenance>,
        at: RecordPosition,
        error: Error,
        rest: Option<Rest>,
    ) -> Self {
        let lost = match rest {
            Some(rest) => error.lost().unwrap_or_else(|| rest.lost(at)),
            None => error.lost().unwrap_or(Lost::Records(1)),
        };
        let row_provenance = Some(RowProvenance { file: Arc::clone(file), record: at.record, sub: 0 });
        let (offset_bytes, passed) = (Some(at.offset_bytes), PassedRows::default());
        Self {
            skipper,
            stage,
            row_provenance,
            offset_bytes,
            error,
            ends_file: rest.is_some(),
            lost,
            scanned: 0,
            passed,
        }
    }

    /// With how many records a scan has found beside it.
    pub fn among(self, scanned: u64) -> Self {
        Self { scanned, ..self }
    }
}

/// The rest of a file, from damage on behind which nothing can be read.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// How many bytes it has, if that is known.
    pub num_bytes: Option<u64>,
}

impl Rest {
    /// How many records it has if they are as long as those before it, on average.
    fn lost(self, at: RecordPosition) -> Lost {
        let RecordPosition { offset_bytes, record } = at;
        match self.num_bytes {
            Some(num_bytes) if offset_bytes > 0 && record > 0 => {
                let (offset_bytes, record) = (u128::from(offset_bytes), u128::from(record));
                let count = (u128::from(num_bytes) * record + offset_bytes / 2) / offset_bytes;
                Lost::Records(u64::try_from(count).unwrap_or(u64::MAX).max(1))
            }
            _ => Lost::Unknown,
        }
    }
}

impl From<Skipped> for SkipEvent {
    fn from(skipped: Skipped) -> Self {
        Self::Skipped(Box::new(skipped))
    }
}

/// Skip events, each with the number of rows before it, rising.
pub type SkipEvents = Vec<(usize, SkipEvent)>;

/// Rows, and what was left out between them.
pub type RowsAndSkips = (Rows, SkipEvents);

/// Whether an error means that a file is damaged; others are of the system, or of the program.
pub fn is_damage(error: &Error) -> bool {
    matches!(error.code(), Code::DataLoss | Code::InvalidArgument | Code::OutOfRange) && !error.is_interrupting()
}

/// Whether an error is one of a function and its example; others are of the system, or a defect.
pub fn is_of_example(error: &Error) -> bool {
    !matches!(error.code(), Code::Cancelled | Code::Aborted | Code::Internal | Code::Unavailable)
        && !error.is_interrupting()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_file_is_counted_by_the_length_of_the_records_before_it() {
        let at = |offset_bytes, record| RecordPosition { offset_bytes, record };
        let lost = |num_bytes, at| Rest { num_bytes }.lost(at);
        assert_eq!(lost(Some(1000), at(100, 10)), Lost::Records(100));
        assert_eq!(lost(Some(14), at(100, 10)), Lost::Records(1));
        assert_eq!(lost(Some(15), at(100, 10)), Lost::Records(2));
        assert_eq!(lost(Some(0), at(100, 10)), Lost::Records(1));
        assert_eq!(lost(Some(u64::MAX), at(1, u64::MAX)), Lost::Records(u64::MAX));
        assert_eq!(lost(None, at(100, 10)), Lost::Unknown);
        assert_eq!(lost(Some(1000), at(100, 0)), Lost::Unknown);
    }
}
