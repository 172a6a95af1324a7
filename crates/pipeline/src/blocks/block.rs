//! Blocks, which store many examples in columns.

use crate::blocks::column::Column;
pub use crate::blocks::file_provenance::FileProvenance;
pub use crate::blocks::provenance::{Provenance, RowProvenance};
pub use crate::blocks::row_id::{Pass, RowId};
use crate::budget::Charge;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// A group of examples, stored in columns.
#[derive(Debug)]
pub struct Block {
    /// The components, in the same order as in the description.
    pub columns: Vec<Column>,
    num_rows: usize,
    /// True if several columns are stored together, row by row.
    is_packed: bool,
    provenance: Provenance,
    /// The memory charge of the block itself. Its buffers are charged separately.
    _charge: Option<Charge>,
}

impl Block {
    /// Creates a block. Each column must have `num_rows` rows.
    pub fn new(columns: Vec<Column>, num_rows: usize, provenance: Provenance) -> Result<Self> {
        if let Some(column) = columns.iter().find(|column| column.len() != num_rows) {
            return Err(Error::internal(format!("a column has {} rows, but its block has {num_rows}", column.len())));
        }
        let is_packed = columns.iter().any(|column| column.packed().is_some());
        Ok(Self { columns, num_rows, is_packed, provenance, _charge: None })
    }

    /// A block without columns and rows.
    pub fn empty() -> Self {
        Self { columns: Vec::new(), num_rows: 0, is_packed: false, provenance: Provenance::Unknown, _charge: None }
    }

    /// Attaches a memory charge to the block.
    pub fn charged(mut self, charge: Charge) -> Self {
        self._charge = Some(charge);
        self
    }

    /// Splits the block into its components and its own memory charge.
    pub fn into_columns(self) -> (Vec<Column>, Option<Charge>) {
        (self.columns, self._charge)
    }

    /// The number of examples.
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// Returns true if several columns are stored together, row by row. Such columns can only be
    /// gathered.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// The size of the elements in bytes.
    pub fn num_bytes(&self) -> usize {
        self.columns.iter().map(Column::num_bytes).sum()
    }

    /// The memory that the block uses and is charged for.
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

    /// The unique identity of row `row`, if known. It seeds the row's random draws.
    pub fn row_id(&self, row: usize) -> Result<Option<RowId>> {
        self.row_provenance(row).map(|row_provenance| row_provenance.row_id()).transpose()
    }

    /// Replaces the provenance of the rows.
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Drops references that keep other rows alive only for their provenance.
    pub fn settled(mut self) -> Self {
        self.provenance = self.provenance.settled();
        self
    }

    /// Returns a block of the same rows with a single owner. The memory charge stays with the
    /// original.
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
