//! Blocks: many examples in columns.

use crate::error::{Error, Result};
use crate::pipeline::blocks::column::Column;
pub use crate::pipeline::blocks::file_provenance::FileProvenance;
pub use crate::pipeline::blocks::provenance::{Provenance, RowProvenance};
pub use crate::pipeline::blocks::row_id::{Pass, RowId};
use crate::pipeline::execution::budget::Charge;
use std::sync::Arc;

/// Some examples, in columns.
#[derive(Debug)]
pub struct Block {
    /// The components, in the order of the description.
    pub columns: Vec<Column>,
    num_rows: usize,
    provenance: Provenance,
    /// What the block is charged with beside its buffers, which carry their own charges.
    _charge: Option<Charge>,
}

impl Block {
    /// A block of `num_rows` rows: as many as each of the columns has.
    pub fn new(columns: Vec<Column>, num_rows: usize, provenance: Provenance) -> Result<Self> {
        if let Some(column) = columns.iter().find(|column| column.len() != num_rows) {
            return Err(Error::internal(format!("a column of {} rows in a block of {num_rows}", column.len())));
        }
        Ok(Self { columns, num_rows, provenance, _charge: None })
    }

    /// The block, charged for as long as it lives.
    pub fn charged(mut self, charge: Charge) -> Self {
        self._charge = Some(charge);
        self
    }

    /// The components, and what they are charged with beside their buffers.
    pub fn into_columns(self) -> (Vec<Column>, Option<Charge>) {
        (self.columns, self._charge)
    }

    /// How many examples there are.
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// How many bytes the elements have.
    pub fn num_bytes(&self) -> usize {
        self.columns.iter().map(Column::num_bytes).sum()
    }

    /// How much memory it takes: what it is charged with.
    pub fn held_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::held_bytes).sum();
        size_of::<Self>() + size_of_val(&*self.columns) + columns + self.provenance.held_bytes()
    }

    /// Where the rows were read.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Where row `row` was read, if that is known.
    pub fn row_provenance(&self, row: usize) -> Option<RowProvenance> {
        self.provenance.get(row)
    }

    /// The place of row `row`, if that is known: what random draws for it are keyed by.
    pub fn row_id(&self, row: usize) -> Option<RowId> {
        self.row_provenance(row).map(|row_provenance| row_provenance.row_id())
    }

    /// The block with other provenance of its rows.
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// The block, which keeps no other rows alive for their provenance.
    pub fn settled(mut self) -> Self {
        self.provenance = self.provenance.settled();
        self
    }

    /// A block of the same rows that is its owner's alone. What it is charged with stays with the other one.
    pub fn share(self: &Arc<Self>) -> Self {
        Self {
            columns: self.columns.clone(),
            num_rows: self.num_rows,
            provenance: self.provenance.clone(),
            _charge: None,
        }
    }
}
