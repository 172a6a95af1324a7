//! Blocks, which store many examples in columns.

use crate::blocks::column::Column;
pub use crate::blocks::file_provenance::FileProvenance;
pub use crate::blocks::provenance::{Provenance, RowProvenance};
pub use crate::blocks::row_id::{Pass, RowId};
use crate::budget::Charge;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// Some examples, in columns.
#[derive(Debug)]
pub struct Block {
    /// The components, in the order of the description.
    pub columns: Vec<Column>,
    num_rows: usize,
    /// True if several columns are in rows together.
    is_packed: bool,
    provenance: Provenance,
    /// The charge of the block, besides its buffers, which carry their own charges.
    _charge: Option<Charge>,
}

impl Block {
    /// A block of `num_rows` rows. Each of the columns must have as many.
    pub fn new(columns: Vec<Column>, num_rows: usize, provenance: Provenance) -> Result<Self> {
        if let Some(column) = columns.iter().find(|column| column.len() != num_rows) {
            return Err(Error::internal(format!("a column of {} rows in a block of {num_rows}", column.len())));
        }
        let is_packed = columns.iter().any(|column| column.packed().is_some());
        Ok(Self { columns, num_rows, is_packed, provenance, _charge: None })
    }

    /// The block, charged for as long as it lives.
    pub fn charged(mut self, charge: Charge) -> Self {
        self._charge = Some(charge);
        self
    }

    /// The components, and the charge of the block besides its buffers.
    pub fn into_columns(self) -> (Vec<Column>, Option<Charge>) {
        (self.columns, self._charge)
    }

    /// The number of examples.
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// True if several columns are in rows together: such columns are only gathered.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// The number of bytes of the elements.
    pub fn num_bytes(&self) -> usize {
        self.columns.iter().map(Column::num_bytes).sum()
    }

    /// The memory that it uses and is charged for.
    pub fn held_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::held_bytes).sum();
        size_of::<Self>() + size_of_val(&*self.columns) + columns + self.provenance.held_bytes()
    }

    /// The provenance of the rows.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The provenance of row `row`, if it is known.
    pub fn row_provenance(&self, row: usize) -> Option<RowProvenance> {
        self.provenance.get(row)
    }

    /// The unique identity of row `row`, if it is known. It keys the random draws for the row.
    pub fn row_id(&self, row: usize) -> Result<Option<RowId>> {
        self.row_provenance(row).map(|row_provenance| row_provenance.row_id()).transpose()
    }

    /// The block with other provenance of its rows.
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// The block, without references that keep other rows alive for their provenance.
    pub fn settled(mut self) -> Self {
        self.provenance = self.provenance.settled();
        self
    }

    /// A block of the same rows with a single owner. The charge stays with the other one.
    pub fn share(self: &Arc<Self>) -> Self {
        Self {
            columns: self.columns.clone(),
            num_rows: self.num_rows,
            is_packed: self.is_packed,
            provenance: self.provenance.clone(),
            _charge: None,
        }
    }
}
