//! A program of the engine, run once for each row.

use crate::error::Result;
use crate::pipeline::block::{Block, Rows};
use crate::pipeline::column::Column;
use crate::pipeline::nodes::map::Stage;
use crate::program::Program;
use crate::run::Run;
use crate::sync::cancellation::Cancellation;
use std::sync::Arc;

/// Feeds some columns to a program, row by row; what it fetches becomes columns.
pub struct RunProgram {
    /// The program. It fetches `num_outputs` tensors.
    pub program: Arc<Program>,
    /// The columns that are fed.
    pub fed: Vec<usize>,
    /// The columns that are kept beside.
    pub kept: Vec<usize>,
    /// How many components it makes.
    pub num_outputs: usize,
}

impl Stage for RunProgram {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let cancellation = Cancellation::new();
        let run = Run::new(&cancellation);
        let mut outputs: Vec<Vec<_>> = (0..self.num_outputs).map(|_| Vec::new()).collect();
        for (index, (block, row)) in rows.iter().enumerate() {
            let feeds = self.fed.iter().map(|column| block.columns[*column].row(row)).collect::<Result<_>>()?;
            let fetched = self.program.run(feeds, &run).map_err(|error| match rows.origin(index) {
                Some(origin) => error.while_reading(&origin),
                None => error,
            })?;
            outputs.iter_mut().zip(fetched).for_each(|(column, tensor)| column.push(tensor));
        }
        let mut columns = self.kept.iter().map(|column| rows.gather_column(*column)).collect::<Result<Vec<_>>>()?;
        for rows in outputs {
            columns.push(Column::of_rows(rows)?);
        }
        Block::new(columns, rows.len(), rows.origins()).map(Rows::all)
    }
}
