//! Rows with random access.

use crate::blocks::block::{Block, RowProvenance};
use headrace_engine::error::Result;

/// Rows with random access.
pub trait Indexed: Send + Sync {
    /// The number of rows.
    fn len(&self) -> u64;

    /// True if it is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the rows at these indices, in this order.
    fn read(&self, numbers: &[u64]) -> Result<Block>;

    /// The provenance of row `number`, if it comes from a file.
    fn row_provenance(&self, _number: u64) -> Option<RowProvenance> {
        None
    }

    /// The approximate number of bytes of a row.
    fn row_bytes(&self) -> usize;

    /// How many bytes of a block count as read.
    fn counted_bytes(&self, block: &Block) -> usize {
        block.num_bytes()
    }
}
