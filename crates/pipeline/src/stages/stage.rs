//! The interface of stages, which work on rows.

use crate::blocks::row_id::RecordKeys;
use crate::blocks::rows::Rows;
use headrace_engine::error::Result;

/// Work on rows, done by a worker. It is a pure function of them.
pub trait Stage: Send + Sync {
    /// The result rows for some rows.
    fn apply(&self, rows: Rows) -> Result<Rows>;

    /// The number of the stage in the description that it is measured as, if any.
    fn number(&self) -> Option<usize> {
        None
    }

    /// True if its result for some rows consists of its results for each of them.
    fn is_row_wise(&self) -> bool {
        true
    }

    /// True if it returns one row for each row, or, if not row-wise, one row for all.
    fn is_one_to_one(&self) -> bool {
        false
    }

    /// True if it reads files.
    fn waits_for_storage(&self) -> bool {
        false
    }

    /// The records that it keeps, if it does nothing but drop the rows of others.
    fn kept_records(&self) -> Option<&RecordKeys> {
        None
    }
}
