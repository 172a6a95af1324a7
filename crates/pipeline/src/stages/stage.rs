//! The interface of stages, which process rows.

use crate::blocks::row_id::KeptRecords;
use crate::blocks::rows::Rows;
use headrace_engine::error::Result;

/// Work on rows that a worker does. It is a pure function of the rows.
pub trait Stage: Send + Sync {
    /// Returns the resulting rows.
    fn apply(&self, rows: Rows) -> Result<Rows>;

    /// The number of the stage in the description under which the work is measured, if any.
    fn number(&self) -> Option<usize> {
        None
    }

    /// Returns true if the result for several rows consists of the results for each of them.
    fn is_row_wise(&self) -> bool {
        true
    }

    /// Returns true if it produces one row per row or, if it isn't row-wise, one row in total.
    fn is_one_to_one(&self) -> bool {
        false
    }

    /// Returns true if it reads files.
    fn waits_for_storage(&self) -> bool {
        false
    }

    /// The records that it keeps, if it only drops rows of other records.
    fn kept_records(&self) -> Option<&KeptRecords> {
        None
    }
}
