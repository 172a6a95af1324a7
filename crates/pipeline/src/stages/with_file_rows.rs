//! Adds components that are known for each file, such as the boxes in an image.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// Adds columns after the first `num_columns` ones. A row gets the values for its file.
pub struct WithFileRows {
    /// The number of columns to keep.
    pub num_columns: usize,
    /// The added columns, with one row for each file of the source, in the same order.
    pub table: Arc<Block>,
}

impl Stage for WithFileRows {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let mut columns = rows.gather_columns(0..self.num_columns)?;
        let mut values = Rows::new();
        let number = values.add_block(&self.table);
        for (block, row) in rows.iter() {
            let file = block.provenance().file(row).map(|file| file.number as usize);
            let unknown = || Error::internal("with_file_rows: the file of a row is unknown");
            let file = file.filter(|file| *file < self.table.num_rows()).ok_or_else(unknown)?;
            values.push_run(number, file, 1);
        }
        columns.extend(values.gather_columns(0..self.table.columns.len())?);
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}
