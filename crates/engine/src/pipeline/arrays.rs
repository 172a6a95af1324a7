//! Rows of arrays that are in memory.

use super::block::{Block, FileOrigin, Origins};
use super::column::Column;
use super::nodes::sampled::Indexed;
use crate::error::{Error, Result};
use crate::files::name::FileName;
use crate::reader::Numbering;
use crate::tensor::Tensor;
use std::sync::Arc;

/// The rows of tensors that have equally many.
pub struct Arrays {
    columns: Vec<Column>,
    len: u64,
    origin: Arc<FileOrigin>,
}

impl Arrays {
    /// Fails unless all tensors have equally many rows.
    pub fn new(tensors: Vec<Tensor>) -> Result<Self> {
        let columns: Vec<_> = tensors.into_iter().map(Column::Dense).collect();
        let len = columns.first().map_or(0, Column::len);
        match columns.iter().find(|column| column.len() != len) {
            Some(other) => Err(Error::internal(format!("arrays of {len} and of {} rows", other.len()))),
            None => {
                let numbering = Numbering { word: "row", first: 0 };
                let origin = Arc::new(FileOrigin::new(FileName::new("arrays"), numbering, 0));
                Ok(Self { columns, len: len as u64, origin })
            }
        }
    }
}

impl Indexed for Arrays {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let rows = || numbers.iter().map(|number| (0, *number as usize));
        let columns = self.columns.iter().map(|column| Column::gather(&[column], rows())).collect::<Result<_>>()?;
        Block::new(columns, numbers.len(), Origins::records(&self.origin, numbers.iter().copied()))
    }

    fn row_bytes(&self) -> usize {
        let bytes = |column: &Column| column.num_bytes() / column.len().max(1);
        self.columns.iter().map(bytes).sum()
    }
}
