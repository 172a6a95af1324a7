//! Selects columns, in any order.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::Result;

/// Keeps the columns at these indices.
pub struct Select(pub Vec<usize>);

impl Stage for Select {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let columns = rows.gather_columns(self.0.iter().copied())?;
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}
