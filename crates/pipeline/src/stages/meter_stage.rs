//! Wraps a stage to measure its work.

use crate::blocks::row_id::KeptRecords;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::Result;
use std::sync::Arc;

/// A stage, with the number under which it is measured.
pub struct MeterStage {
    /// The stage itself.
    pub stage: Arc<dyn Stage>,
    /// The number of the stage in the description.
    pub number: usize,
}

impl Stage for MeterStage {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        self.stage.apply(rows)
    }

    fn number(&self) -> Option<usize> {
        Some(self.number)
    }

    fn is_row_wise(&self) -> bool {
        self.stage.is_row_wise()
    }

    fn is_one_to_one(&self) -> bool {
        self.stage.is_one_to_one()
    }

    fn waits_for_storage(&self) -> bool {
        self.stage.waits_for_storage()
    }

    fn kept_records(&self) -> Option<&KeptRecords> {
        self.stage.kept_records()
    }
}
