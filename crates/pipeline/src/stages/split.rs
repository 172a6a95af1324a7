//! Splits examples by the identity of their records, for example into training and validation
//! data.

use crate::blocks::row_id::KeptRecords;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};

/// Keeps the rows of these records.
pub struct Split(pub KeptRecords);

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

    fn kept_records(&self) -> Option<&KeptRecords> {
        Some(&self.0)
    }
}
