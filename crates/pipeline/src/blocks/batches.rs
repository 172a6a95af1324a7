//! Splits a block whose rows are batches into single batches.

use crate::blocks::block::Block;
use crate::blocks::column::Column;
use crate::budget::Charge;
use headrace_engine::error::Result;
use std::sync::Arc;

/// A block whose rows are batches, which are taken one by one.
///
/// The number of batches in a block depends on the previous stages, on threads and on memory.
#[derive(Default)]
pub struct Batches {
    columns: Vec<Column>,
    num_rows: usize,
    next: usize,
    /// The memory charge of the block. It is kept until another block takes its place.
    _charge: Option<Charge>,
}

impl Batches {
    /// Wraps a block whose rows are batches.
    pub fn of(block: Arc<Block>) -> Self {
        let num_rows = block.num_rows();
        let (columns, charge) = match Arc::try_unwrap(block) {
            Ok(block) => block.into_columns(),
            Err(block) => (block.columns.clone(), None),
        };
        Self { columns, num_rows, next: 0, _charge: charge }
    }

    /// The number of batches taken so far.
    pub fn num_taken(&self) -> usize {
        self.next
    }

    /// Takes the components of the next batch. If nobody else held the block, nobody else holds the
    /// components.
    pub fn take(&mut self) -> Option<Result<Vec<Column>>> {
        let row = self.next;
        if row == self.num_rows {
            return None;
        }
        self.next += 1;
        Some(self.columns.iter_mut().map(|column| column.take_batch(row)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::block::Provenance;
    use headrace_engine::tensor::Tensor;
    use headrace_engine::tensor::shape::Shape;

    fn numbers(shape: &[usize], values: Vec<i32>) -> Column {
        Column::Dense(Tensor::from_values(Shape::new(shape), values).unwrap())
    }

    fn shapes(batches: &mut Batches) -> Vec<Vec<Vec<usize>>> {
        std::iter::from_fn(|| batches.take())
            .map(|batch| batch.unwrap().iter().map(|column| column.to_tensor().unwrap().shape().to_vec()).collect())
            .collect()
    }

    #[test]
    fn batches_are_taken_one_by_one_from_every_kind_of_column() {
        let apart = Column::Batches([numbers(&[2], vec![1, 2]), numbers(&[3, 1], vec![3, 4, 5])].into());
        let together = numbers(&[2, 4], (0..8).collect());
        let block = Block::new(vec![apart, together], 2, Provenance::Unknown).unwrap();
        let mut batches = Batches::of(Arc::new(block));
        assert_eq!(batches.num_taken(), 0);
        assert_eq!(shapes(&mut batches), [[vec![2], vec![4]], [vec![3, 1], vec![4]]]);
        assert_eq!(batches.num_taken(), 2);
        assert!(Batches::default().take().is_none());
    }

    #[test]
    fn shared_block_keeps_its_batches() {
        let column = Column::Batches([numbers(&[1], vec![7]), numbers(&[1], vec![8])].into());
        let block = Arc::new(Block::new(vec![column], 2, Provenance::Unknown).unwrap());
        assert_eq!(shapes(&mut Batches::of(Arc::clone(&block))), [[vec![1]], [vec![1]]]);
        assert_eq!(block.columns[0].row(1).unwrap().values::<i32>().unwrap(), [8]);
    }
}
