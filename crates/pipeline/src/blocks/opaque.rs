//! Values that a later stage turns into columns.

use headrace_engine::error::Result;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// A row's value that a later stage turns into columns. It refers to memory that other rows may
/// share.
pub trait Opaque: Any + Debug + Send + Sync {
    /// Returns the same value with a copy of the memory, so that other rows don't keep it alive.
    fn copied(&self) -> Result<Arc<dyn Opaque>>;
}

/// One such value per row.
#[derive(Clone, Debug)]
pub struct OpaqueValues {
    values: Arc<[Arc<dyn Opaque>]>,
    num_bytes: usize,
    held_bytes: usize,
}

impl OpaqueValues {
    /// Creates a column of values. Their columns will have `num_bytes`, and the values alone use
    /// `held_bytes` of memory.
    pub fn new(values: Vec<Arc<dyn Opaque>>, num_bytes: usize, held_bytes: usize) -> Self {
        Self { values: values.into(), num_bytes, held_bytes }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of row `row`.
    pub fn get(&self, row: usize) -> &Arc<dyn Opaque> {
        &self.values[row]
    }

    /// The size in bytes of the elements in the columns that a later stage makes.
    pub fn num_bytes(&self) -> usize {
        self.num_bytes
    }

    /// The memory that the values use.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Copies the values of some rows.
    pub fn copied(columns: &[&Self], rows: impl Iterator<Item = (usize, usize)>) -> Result<Self> {
        let (mut num_bytes, mut values) = (0, Vec::new());
        for (column, row) in rows {
            values.push(columns[column].get(row).copied()?);
            num_bytes += columns[column].num_bytes / columns[column].len().max(1);
        }
        Ok(Self::new(values, num_bytes, num_bytes))
    }
}
