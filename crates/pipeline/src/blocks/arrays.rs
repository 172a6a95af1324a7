//! Rows of in-memory arrays.

use crate::blocks::block::{Block, FileProvenance, Provenance, RowProvenance};
use crate::blocks::column::Column;
use crate::blocks::gather::gather;
use crate::blocks::indexed::Indexed;
use crate::blocks::strided::Strided;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;
use headrace_engine::tensor::Tensor;
use std::sync::Arc;

/// The rows of arrays with the same number of rows.
pub struct Arrays {
    arrays: Vec<Array>,
    len: u64,
    file_provenance: Arc<FileProvenance>,
}

/// An array in memory.
pub enum Array {
    /// Contiguous elements.
    Contiguous(Tensor),
    /// Elements with strides.
    Strided(Strided),
}

impl Array {
    fn len(&self) -> usize {
        match self {
            Self::Contiguous(tensor) => tensor.shape().first().copied().unwrap_or(0),
            Self::Strided(array) => array.len(),
        }
    }

    fn row_bytes(&self) -> usize {
        match self {
            Self::Contiguous(tensor) => tensor.num_bytes() / self.len().max(1),
            Self::Strided(array) => array.row_bytes(),
        }
    }
}

impl Arrays {
    /// Fails if the arrays have different numbers of rows.
    pub fn new(arrays: Vec<Array>) -> Result<Self> {
        let len = arrays.first().map_or(0, Array::len);
        match arrays.iter().find(|array| array.len() != len) {
            Some(other) => Err(Error::internal(format!(
                "the arrays have {len} and {} rows, expected the same number",
                other.len()
            ))),
            None => {
                let numbering = Numbering { word: "row", first: 0 };
                let file_provenance = Arc::new(FileProvenance::new(FileName::new("arrays"), numbering, 0));
                Ok(Self { arrays, len: len as u64, file_provenance })
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
        let column = |array: &Array| match array {
            Array::Contiguous(tensor) => gather(&[&Column::Dense(tensor.clone())], rows()),
            Array::Strided(array) => array.gather(numbers).map(Column::Dense),
        };
        let columns = self.arrays.iter().map(column).collect::<Result<_>>()?;
        Block::new(columns, numbers.len(), Provenance::records(&self.file_provenance, numbers.iter().copied()))
    }

    fn row_provenance(&self, number: u64) -> Option<RowProvenance> {
        Some(RowProvenance { file: Arc::clone(&self.file_provenance), record: number, sub: 0 })
    }

    fn row_bytes(&self) -> usize {
        self.arrays.iter().map(Array::row_bytes).sum()
    }
}
