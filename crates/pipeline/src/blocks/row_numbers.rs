//! Row numbers, for sources that Python reads.

use crate::blocks::block::{Block, FileProvenance, Provenance, RowProvenance};
use crate::blocks::column::Column;
use crate::blocks::indexed::Indexed;
use headrace_engine::error::Result;
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// Rows that consist only of their own row number.
pub struct RowNumbers {
    len: u64,
    file_provenance: Arc<FileProvenance>,
}

impl RowNumbers {
    /// Numbers the rows from 0 to `len - 1`.
    pub fn new(len: u64) -> Self {
        let numbering = Numbering { word: "index", first: 0 };
        let file_provenance = Arc::new(FileProvenance::new(FileName::new("indexed"), numbering, 0));
        Self { len, file_provenance }
    }
}

impl Indexed for RowNumbers {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let values: Vec<i64> = numbers.iter().map(|number| *number as i64).collect();
        let column = Column::Dense(Tensor::from_values(Shape::new(&[values.len()]), values)?);
        Block::new(vec![column], numbers.len(), Provenance::records(&self.file_provenance, numbers.iter().copied()))
    }

    fn row_provenance(&self, number: u64) -> Option<RowProvenance> {
        Some(RowProvenance { file: Arc::clone(&self.file_provenance), record: number, sub: 0 })
    }

    fn row_bytes(&self) -> usize {
        size_of::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_values_are_the_requested_numbers() {
        let rows = RowNumbers::new(10);
        let (columns, _) = rows.read(&[7, 0, 9]).unwrap().into_columns();
        let [Column::Dense(tensor)] = &columns[..] else { panic!("a dense column") };
        assert_eq!(tensor.values::<i64>().unwrap(), [7, 0, 9]);
        assert_eq!(rows.len(), 10);
    }
}
