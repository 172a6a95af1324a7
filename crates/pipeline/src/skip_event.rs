//! Rows that are skipped because they are damaged or a function failed for them. A report travels
//! among the rows at its position, so it reaches the consumer at the same position in every run.

use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::provenance::RowProvenance;
use crate::blocks::rows::Rows;
use crate::records::{RecordPosition, Rest};
use headrace_engine::error::{Code, Error, Lost};
use std::sync::Arc;

/// A report for the consumer. Nodes pass it on after the rows that precede it.
#[derive(Clone, Debug)]
pub enum SkipEvent {
    /// Something has been skipped.
    Skipped(Box<Skipped>),
    /// A pass has ended. Reports how many rows a `skip_errors` stage has returned in it.
    PassEnd {
        /// The number of the `skip_errors` stage.
        skipper: usize,
        /// The pass and its number of rows.
        rows: PassProgress,
    },
}

/// How many rows of a pass were returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassProgress {
    /// The number of the pass.
    pub pass: u64,
    /// The number of rows.
    pub count: u64,
}

/// A skipped row, or the rest of a file that was skipped.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The number of the `skip_errors` stage.
    pub skipper: usize,
    /// The number of the stage that failed.
    pub stage: usize,
    /// The record, if known.
    pub row_provenance: Option<RowProvenance>,
    /// The offset of the record in its uncompressed file, if known.
    pub offset_bytes: Option<u64>,
    /// The failure.
    pub error: Error,
    /// True if the rest of the file cannot be read either.
    pub ends_file: bool,
    /// The number of lost records, including this one.
    pub lost: Lost,
    /// The number of additional records found by a scan of all files; 0 without a scan.
    pub num_scanned: u64,
    /// The number of rows returned before this one.
    pub passed: PassProgress,
    /// The number of rows before this one at its stage, including skipped rows. `None` if they were
    /// not counted.
    pub place: Option<u64>,
}

/// Counts the rows of a node, including those skipped by a `skip_errors` stage. Corresponding rows
/// have the same position in all inputs of a zip, so that the partners of a skipped row can be
/// skipped too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    /// The position of the next row.
    pub next: u64,
}

impl Places {
    /// Counts rows.
    pub fn add(&mut self, num_rows: usize) {
        self.next += num_rows as u64;
    }

    /// Counts a row that `skipper` skips, unless it was counted before. After a resume, some
    /// failures occur again.
    pub fn add_event(&mut self, event: &SkipEvent, skipper: Option<usize>) {
        if let Some(place) = event.place(skipper) {
            self.next = self.next.max(place + 1);
        }
    }
}

impl SkipEvent {
    /// The position of a row that `skipper` skips, if its rows are counted.
    pub fn place(&self, skipper: Option<usize>) -> Option<u64> {
        match self {
            Self::Skipped(skipped) if Some(skipped.skipper) == skipper => skipped.place,
            _ => None,
        }
    }
}

impl Skipped {
    /// Reports a row for which a stage failed. May read the file to find the record's offset.
    pub fn row(skipper: usize, stage: usize, row_provenance: Option<RowProvenance>, error: Error) -> Self {
        let offset_bytes = row_provenance.as_ref().and_then(RowProvenance::offset_bytes);
        let lost = error.lost().unwrap_or(Lost::Records(1));
        Self {
            skipper,
            stage,
            row_provenance,
            offset_bytes,
            error,
            ends_file: false,
            lost,
            num_scanned: 0,
            passed: PassProgress::default(),
            place: None,
        }
    }

    /// Reports an unreadable part of a file, or with `rest` everything up to the end of the file.
    pub fn damage(
        (skipper, stage): (usize, usize),
        file: &Arc<FileProvenance>,
        at: RecordPosition,
        error: Error,
        rest: Option<Rest>,
    ) -> Self {
        let lost = match rest {
            Some(rest) => {
                let record = file.record_number(at.record).unwrap_or(0);
                error.lost().unwrap_or_else(|| rest.lost(RecordPosition { record, ..at }))
            }
            None => error.lost().unwrap_or(Lost::Records(1)),
        };
        let row_provenance = Some(RowProvenance { file: Arc::clone(file), record: at.record, sub: 0 });
        Self {
            skipper,
            stage,
            row_provenance,
            offset_bytes: Some(at.offset_bytes),
            error,
            ends_file: rest.is_some(),
            lost,
            num_scanned: 0,
            passed: PassProgress::default(),
            place: None,
        }
    }

    /// Sets the number of additional records found by a scan.
    pub fn with_num_scanned(self, num_scanned: u64) -> Self {
        Self { num_scanned, ..self }
    }
}

impl From<Skipped> for SkipEvent {
    fn from(skipped: Skipped) -> Self {
        Self::Skipped(Box::new(skipped))
    }
}

/// Skip events, each with the number of rows before it, in ascending order.
pub type SkipEvents = Vec<(usize, SkipEvent)>;

/// Rows with the reports of skipped rows between them.
pub type RowsAndSkips = (Rows, SkipEvents);

/// Returns true if the error means that a file is damaged. Other errors come from the system or the
/// program.
pub fn is_damage(error: &Error) -> bool {
    matches!(error.code(), Code::DataLoss | Code::InvalidArgument | Code::OutOfRange) && !error.is_interrupting()
}

/// Returns true if the error was caused by a function and its example. Other errors come from the
/// system or from a bug.
pub fn is_of_example(error: &Error) -> bool {
    !matches!(error.code(), Code::Cancelled | Code::Aborted | Code::Internal | Code::Unavailable)
        && !error.is_interrupting()
}
