//! What is left out, because it is damaged or a function failed at it. Word of it travels among the rows, at its place: so it
//! comes to the consumer at the same place in every run.

use super::origin::RowOrigin;
use super::rows::Rows;
use crate::error::{Code, Error};

/// Word for the consumer, which nodes hand on behind the rows before it.
#[derive(Clone, Debug)]
pub enum Note {
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
    pub origin: Option<RowOrigin>,
    /// Where the record begins in its uncompressed file, if it is known.
    pub offset_bytes: Option<u64>,
    /// What happened.
    pub error: Error,
    /// Whether what follows in the file cannot be read either.
    pub ends_file: bool,
    /// What came through before this.
    pub passed: PassedRows,
}

impl Skipped {
    /// A row that a stage failed at. The file may be read to find out where its record begins.
    pub fn row(skipper: usize, stage: usize, origin: Option<RowOrigin>, error: Error) -> Self {
        let offset_bytes = origin.as_ref().and_then(RowOrigin::offset_bytes);
        Self { skipper, stage, origin, offset_bytes, error, ends_file: false, passed: PassedRows::default() }
    }

    /// What could not be read of a file.
    pub fn damage(skipper: usize, stage: usize, at: (RowOrigin, u64), error: Error, ends_file: bool) -> Self {
        let (origin, offset_bytes) = (Some(at.0), Some(at.1));
        Self { skipper, stage, origin, offset_bytes, error, ends_file, passed: PassedRows::default() }
    }
}

impl From<Skipped> for Note {
    fn from(skipped: Skipped) -> Self {
        Self::Skipped(Box::new(skipped))
    }
}

/// Notes, each with the number of rows before it, rising.
pub type Notes = Vec<(usize, Note)>;

/// Rows, and what was left out between them.
pub type Noted = (Rows, Notes);

/// Whether an error means that a file is damaged; others are of the system, or of the program.
pub fn is_damage(error: &Error) -> bool {
    matches!(error.code(), Code::DataLoss | Code::InvalidArgument | Code::OutOfRange) && !error.is_interrupting()
}

/// Whether an error is one of a function and its example; others are of the system, or a defect.
pub fn is_of_example(error: &Error) -> bool {
    !matches!(error.code(), Code::Cancelled | Code::Aborted | Code::Internal | Code::Unavailable)
        && !error.is_interrupting()
}
