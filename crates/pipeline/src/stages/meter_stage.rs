//! Wraps a stage so that its work is measured.

use crate::blocks::row_id::RecordKeys;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::Result;
use std::sync::Arc;

/// A stage, with the number of the stage that it is measured as.
pub struct MeterStage {
    /// The stage itself.
    pub stage: Arc<dyn Stage>,
    /// Its number in the description.
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

    fn kept_records(&self) -> Option<&RecordKeys> {
        self.stage.kept_records()
    }
}
