//! Random access to the rows of a cache file.

use crate::blocks::block::Block;
use crate::blocks::indexed::Indexed;
use crate::blocks::rows::Rows;
use crate::nodes::disk_cache::entry::Entry;
use crate::nodes::disk_cache::store::DiskStore;
use headrace_engine::error::{Code, Error, Result};
use std::sync::Arc;

/// The rows of a cache file, by number.
pub struct StoredRows {
    entry: Arc<Entry>,
    store: Arc<DiskStore>,
}

impl StoredRows {
    /// All rows of a file.
    pub fn new(entry: Arc<Entry>, store: Arc<DiskStore>) -> Self {
        Self { entry, store }
    }

    /// Reads the rows at these indices as a block. All of them must be in the chunk at
    /// `position`.
    fn read_chunk(&self, position: (usize, usize), numbers: impl Iterator<Item = u64>) -> Result<Arc<Block>> {
        let (first, block) = self.entry.read_at(position).map_err(|error| {
            if error.code() != Code::DataLoss {
                return error;
            }
            self.store.forget(self.entry.path(), "a block is damaged or cut short");
            // If the cache file is damaged, that isn't the fault of an example, so nothing may be
            // skipped.
            Error::failed_precondition(error.message())
        })?;
        let (block, mut rows) = (Arc::new(block), Rows::new());
        numbers.for_each(|number| rows.push(&block, (number - first) as usize, 1));
        rows.gather()
    }
}

impl Indexed for StoredRows {
    fn len(&self) -> u64 {
        self.entry.num_rows()
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let mut requests: Vec<_> =
            numbers.iter().enumerate().map(|(row, number)| (self.entry.chunk_of(*number), *number, row)).collect();
        requests.sort_unstable();
        // For each row, its block and its row number in that block.
        let mut positions: Vec<_> = std::iter::repeat_n((0, 0), numbers.len()).collect();
        let mut blocks = Vec::new();
        for of_chunk in requests.chunk_by(|one, other| one.0 == other.0) {
            let (position, ..) = of_chunk[0];
            of_chunk.iter().enumerate().for_each(|(at, (.., row))| positions[*row] = (blocks.len(), at));
            blocks.push(self.read_chunk(position, of_chunk.iter().map(|(_, number, _)| *number))?);
        }
        let mut rows = Rows::new();
        blocks.iter().for_each(|block| {
            rows.add_block(block);
        });
        positions.into_iter().for_each(|(block, row)| rows.push_run(block, row, 1));
        rows.copy()
    }

    fn row_bytes(&self) -> usize {
        self.entry.num_bytes() / usize::try_from(self.len().max(1)).unwrap_or(usize::MAX)
    }
}
