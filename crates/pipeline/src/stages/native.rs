//! Runs native functions on rows, for `map` and `filter`.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::native::function::Function;
use crate::stages::Stage;
use crate::stages::collate::Unbatch;
use headrace_engine::error::Result;

/// Replaces each row with the result of a function.
pub struct MapNative {
    /// The function.
    pub function: Function,
    /// The columns of the new rows.
    pub columns: Vec<Source>,
}

/// Where a column comes from.
pub enum Source {
    /// A column of the input.
    Input(usize),
    /// A result of the function.
    Result(usize),
}

impl Stage for MapNative {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let results = self.function.call(&rows)?;
        let column = |source: &Source| match source {
            Source::Input(column) => rows.gather_column(*column),
            Source::Result(result) => Ok(results[*result].clone()),
        };
        let columns = self.columns.iter().map(column).collect::<Result<_>>()?;
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

/// Replaces each row with the rows that a function returns for it.
pub struct FlatMapNative(pub MapNative);

impl Stage for FlatMapNative {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        Unbatch.apply(self.0.apply(rows)?)
    }
}

/// Keeps the rows for which a function returns true.
pub struct FilterNative(pub Function);

impl Stage for FilterNative {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let results = self.0.call(&rows)?;
        let mut kept = Rows::new();
        for (index, (block, row)) in rows.iter().enumerate() {
            if is_true(&results[0], index)? {
                kept.push(block, row, 1);
            }
        }
        Ok(kept)
    }
}

fn is_true(column: &Column, row: usize) -> Result<bool> {
    match column {
        Column::Batches(batches) => batches[row].to_tensor()?.bool_scalar("the result"),
        Column::Dense(values) => Ok(values.bytes()[row] != 0),
        other => other.row(row)?.bool_scalar("the result"),
    }
}
