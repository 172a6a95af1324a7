//! Rows that go through a pipeline as their numbers, and are read once it is known which of them are wanted.

use crate::error::{Error, Result};
use crate::pipeline::block::{Block, FileOrigin, Origins, Pass};
use crate::pipeline::column::Column;
use crate::pipeline::nodes::map::Stage;
use crate::pipeline::nodes::sampled::Indexed;
use crate::pipeline::rows::Rows;
use crate::sync::Mutex;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;
use std::sync::Arc;

/// How the rows are reached. Whoever gives their numbers finds it out.
#[derive(Default)]
pub struct Reached(Mutex<Option<Arc<dyn Indexed>>>);

impl Reached {
    /// Says how they are reached; returns the numbers of all of them, as rows.
    pub fn set(&self, rows: Arc<dyn Indexed>) -> Numbers {
        let numbers = Numbers { len: rows.len(), origin: FileOrigin::unnamed("example", Pass::default()) };
        *self.0.lock() = Some(rows);
        numbers
    }

    fn get(&self) -> Result<Arc<dyn Indexed>> {
        self.0.lock().clone().ok_or_else(|| Error::internal("rows are read before it is known where they are"))
    }
}

/// Numbers of rows, in place of the rows.
pub struct Numbers {
    len: u64,
    /// Tells in which pass a number was given.
    origin: Arc<FileOrigin>,
}

impl Indexed for Numbers {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let column = Tensor::from_values(Shape::new(&[numbers.len()]), numbers.to_vec())?;
        let origins = Origins::records(&self.origin, numbers.iter().copied());
        Block::new(vec![Column::Dense(column)], numbers.len(), origins)
    }

    fn row_bytes(&self) -> usize {
        size_of::<u64>()
    }

    /// Nothing is read yet.
    fn counted_bytes(&self, _block: &Block) -> usize {
        0
    }
}

/// Replaces numbers by the rows that they stand for.
pub struct Fetch(pub Arc<Reached>);

impl Stage for Fetch {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let reached = self.0.get()?;
        let numbers = rows.gather_column(0)?.to_tensor()?;
        let mut numbers: &[u64] = numbers.values()?;
        let lost = || Error::internal("the pass of a row is not known");
        let passes = rows.iter().map(|(block, row)| block.origins().file(row).map(|file| file.pass).ok_or_else(lost));
        let passes = passes.collect::<Result<Vec<_>>>()?;
        let mut fetched = Rows::new();
        for run in passes.chunk_by(|one, other| one == other) {
            let (here, rest) = numbers.split_at(run.len());
            let block = reached.read(here)?;
            let origins = block.origins().in_pass(run[0]);
            fetched.append(&Rows::all(block.with_origins(origins)));
            numbers = rest;
        }
        Ok(fetched)
    }

    fn keeps_count(&self) -> bool {
        true
    }

    fn waits_for_storage(&self) -> bool {
        true
    }
}
