//! Splits examples by the identity of their records, for example into training and validation
//! data.

use crate::blocks::row_id::RecordKeys;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};

/// Keeps the rows whose records have these keys.
pub struct Split(pub RecordKeys);

impl Stage for Split {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let mut kept = Rows::new();
        for (block, row) in rows.iter() {
            let unknown = || Error::internal("split: the record of a row is unknown");
            if self.0.contain(&block.row_id(row)?.ok_or_else(unknown)?) {
                kept.push(block, row, 1);
            }
        }
        Ok(kept)
    }

    fn kept_records(&self) -> Option<&RecordKeys> {
        Some(&self.0)
    }
}
