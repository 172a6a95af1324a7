//! Reads a record batch from start to end.

use crate::blocks::block::{Block, FileProvenance};
use crate::blocks::rows::Rows as Selected;
use crate::budget::Charge;
use crate::formats::arrow::reader::{Cut, Readers};
use crate::formats::ipc::messages::Batch;
use crate::records::{RecordPosition, Scan};
use arrow_array::RecordBatch;
use headrace_engine::error::{Error, Lost, Result};
use std::sync::Arc;

/// The target size of a block in bytes.
pub const BLOCK_BYTES: usize = 512 * 1024;
/// The maximum number of rows in a block.
const MAX_ROWS: usize = 32 * 1024;
/// Blocks of larger batches are copied. Otherwise each of them would keep the whole batch alive.
const COPIED_BYTES: usize = 2 * BLOCK_BYTES;

/// A record batch that is being read.
pub struct BatchScan {
    file: Arc<FileProvenance>,
    readers: Arc<Readers>,
    batch: Batch,
    /// The columns of the batch.
    rows: RecordBatch,
    /// The number of its next row.
    next_row: usize,
    block_rows: usize,
    num_bytes: usize,
    is_copied: bool,
    /// True after a row caused an error.
    has_lost: bool,
}

impl BatchScan {
    /// Starts at a position.
    pub fn new(
        file: &Arc<FileProvenance>,
        readers: Arc<Readers>,
        batch: Batch,
        rows: RecordBatch,
        at: RecordPosition,
    ) -> Result<Self> {
        let next_row = usize::try_from(at.record.saturating_sub(batch.first_row)).unwrap_or(usize::MAX);
        if next_row > rows.num_rows() {
            return Err(crate::checkpoint::damaged());
        }
        let num_bytes = rows.get_array_memory_size();
        let is_copied = num_bytes > COPIED_BYTES;
        let (file, block_rows, has_lost) = (Arc::clone(file), 1, false);
        let mut scan = Self { file, readers, batch, rows, next_row, block_rows, num_bytes, is_copied, has_lost };
        scan.set_block_bytes(BLOCK_BYTES);
        Ok(scan)
    }

    fn record(&self) -> u64 {
        self.batch.first_row.saturating_add(self.next_row as u64)
    }

    fn block(&self, cut: Cut, first: u64, mut charge: Charge) -> Result<Block> {
        let block = cut.block(&self.file, first)?;
        let block = match self.is_copied {
            true => Selected::all(block).copy()?,
            false => block,
        };
        charge.correct(block.held_bytes());
        Ok(block.charged(charge))
    }
}

impl Scan for BatchScan {
    fn position(&self) -> RecordPosition {
        RecordPosition { offset_bytes: self.batch.span.offset, record: self.record() }
    }

    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        if self.has_lost {
            return Ok(None);
        }
        while self.next_row < self.rows.num_rows() {
            let count = self.block_rows.min(self.rows.num_rows() - self.next_row);
            let cut = self.readers.cut(&self.rows.slice(self.next_row, count))?;
            let first = self.record();
            if cut.num_rows > 0 {
                self.next_row += cut.num_read;
                if self.next_row == self.rows.num_rows() {
                    // Don't keep the batch in memory while its last block is waiting.
                    self.rows = RecordBatch::new_empty(self.rows.schema());
                }
                return self.block(cut, first, charge).map(Some);
            }
            self.next_row += cut.num_read;
            if let Some(text) = cut.fault {
                self.has_lost = true;
                let record = self.file.numbering.of(self.record());
                let text = format!("{}: {record}: {text}", self.file.name.text());
                return Err(Error::invalid_argument(text).with_lost(Lost::Records(1)));
            }
        }
        Ok(None)
    }

    fn go_on(&mut self) -> bool {
        let has_lost = std::mem::take(&mut self.has_lost);
        self.next_row += usize::from(has_lost);
        has_lost
    }

    fn held_bytes(&self) -> Option<usize> {
        Some(if self.next_row < self.rows.num_rows() { self.num_bytes } else { 0 })
    }

    fn set_block_bytes(&mut self, num_bytes: usize) {
        let row_bytes = (self.num_bytes / self.rows.num_rows().max(1)).max(1);
        self.block_rows = (num_bytes / row_bytes).clamp(1, MAX_ROWS);
    }
}
