//! Skipped rows, because they are damaged or a function failed at them. Each report travels among
//! the rows at its position, so it reaches the consumer at the same position in every run.

use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::provenance::RowProvenance;
use crate::blocks::rows::Rows;
use crate::records::{RecordPosition, Rest};
use headrace_engine::error::{Code, Error, Lost};
use std::sync::Arc;

/// A report for the consumer. Nodes pass it on after the rows before it.
#[derive(Clone, Debug)]
pub enum SkipEvent {
    /// Something was skipped.
    Skipped(Box<Skipped>),
    /// A pass has ended; the number of rows that a `skip_errors` stage has returned in it.
    PassEnd {
        /// The number of that stage.
        skipper: usize,
        /// The number of rows and the pass.
        rows: PassProgress,
    },
}

/// The number of rows returned in a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassProgress {
    /// The number of the pass.
    pub pass: u64,
    /// The number of rows.
    pub count: u64,
}

/// A skipped row, or the skipped rest of a file.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The number of the `skip_errors` stage.
    pub skipper: usize,
    /// The number of the stage that has failed.
    pub stage: usize,
    /// The record, if it is known.
    pub row_provenance: Option<RowProvenance>,
    /// The offset of the record in its uncompressed file, if it is known.
    pub offset_bytes: Option<u64>,
    /// The failure.
    pub error: Error,
    /// True if the rest of the file cannot be read either.
    pub ends_file: bool,
    /// The number of records lost, this one included.
    pub lost: Lost,
    /// The number of further records that a scan of all files has found; 0 without a scan.
    pub num_scanned: u64,
    /// The number of rows returned before this one.
    pub passed: PassProgress,
    /// The number of rows and skipped rows before this one at its stage; `None` if they were not
    /// counted.
    pub place: Option<u64>,
}

/// The number of rows, and of rows skipped by a `skip_errors` stage, before the next row of a node.
/// It is the same in all inputs of a zip, so that the partners of a skipped row are skipped too.
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

    /// Counts a row that `skipper` skips, unless it was counted before: after a resume, some
    /// failures occur again.
    pub fn add_event(&mut self, event: &SkipEvent, skipper: Option<usize>) {
        if let Some(place) = event.place(skipper) {
            self.next = self.next.max(place + 1);
        }
    }
}

impl SkipEvent {
    /// The position of a row that `skipper` skips, if it is counted.
    pub fn place(&self, skipper: Option<usize>) -> Option<u64> {
        match self {
            Self::Skipped(skipped) if Some(skipped.skipper) == skipper => skipped.place,
            _ => None,
        }
    }
}

impl Skipped {
    /// A row at which a stage failed. The file may be read to find the offset of its record.
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

    /// An unreadable part of a file; with `rest`, the rest of it.
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

    /// Sets the number of further records that a scan has found.
    pub fn with_num_scanned(self, num_scanned: u64) -> Self {
        Self { num_scanned, ..self }
    }
}

impl From<Skipped> for SkipEvent {
    fn from(skipped: Skipped) -> Self {
        Self::Skipped(Box::new(skipped))
    }
}

/// Skip events, each with the number of rows before it, rising.
pub type SkipEvents = Vec<(usize, SkipEvent)>;

/// Rows, and the reports of skipped rows between them.
pub type RowsAndSkips = (Rows, SkipEvents);

/// True if an error means that a file is damaged; other errors come from the system or the program.
pub fn is_damage(error: &Error) -> bool {
    matches!(error.code(), Code::DataLoss | Code::InvalidArgument | Code::OutOfRange) && !error.is_interrupting()
}

/// True if an error comes from a function and its example; other errors come from the system or a
/// bug.
pub fn is_of_example(error: &Error) -> bool {
    !matches!(error.code(), Code::Cancelled | Code::Aborted | Code::Internal | Code::Unavailable)
        && !error.is_interrupting()
}
