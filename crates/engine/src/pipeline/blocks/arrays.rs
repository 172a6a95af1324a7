//! Rows of arrays in memory.

use crate::error::{Error, Result};
use crate::files::name::FileName;
use crate::numbering::Numbering;
use crate::pipeline::blocks::block::{Block, FileProvenance, Provenance};
use crate::pipeline::blocks::column::Column;
use crate::pipeline::blocks::gather::gather;
use crate::pipeline::nodes::sources::indexed::Indexed;
use crate::tensor::Tensor;
use std::sync::Arc;

/// The rows of tensors with the same number of rows.
pub struct Arrays {
    columns: Vec<Column>,
    len: u64,
    file_provenance: Arc<FileProvenance>,
}

impl Arrays {
    /// Fails unless all tensors have the same number of rows.
    pub fn new(tensors: Vec<Tensor>) -> Result<Self> {
        let columns: Vec<_> = tensors.into_iter().map(Column::Dense).collect();
        let len = columns.first().map_or(0, Column::len);
        match columns.iter().find(|column| column.len() != len) {
            Some(other) => Err(Error::internal(format!("arrays of {len} and of {} rows", other.len()))),
            None => {
                let numbering = Numbering { word: "row", first: 0 };
                let file_provenance = Arc::new(FileProvenance::new(FileName::new("arrays"), numbering, 0));
                Ok(Self { columns, len: len as u64, file_provenance })
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
        let columns = self.columns.iter().map(|column| gather(&[column], rows())).collect::<Result<_>>()?;
        Block::new(columns, numbers.len(), Provenance::records(&self.file_provenance, numbers.iter().copied()))
    }

    fn row_bytes(&self) -> usize {
        let bytes = |column: &Column| column.num_bytes() / column.len().max(1);
        self.columns.iter().map(bytes).sum()
    }
}
