//! Reads a row group from start to end.

use crate::blocks::block::{Block, FileProvenance};
use crate::budget::Charge;
use crate::formats::arrow::reader::Cut;
use crate::formats::parquet::BLOCK_BYTES;
use crate::formats::parquet::encryption::is_encrypted;
use crate::formats::parquet::file::{OpenFile, Parsed, check_unchanged, failed, guarded};
use crate::formats::parquet::footers::{Projection, RowGroup};
use crate::formats::parquet::levels::LevelCheck;
use crate::formats::parquet::pages::Pages;
use crate::records::{RecordPosition, Scan};
use arrow_array::RecordBatch;
use headrace_engine::error::{Error, Lost, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use std::sync::Arc;

/// The maximum number of rows in a block.
const MAX_ROWS: u64 = 32 * 1024;
/// A block this many times larger than requested makes later blocks smaller.
const MOST_TIMES: usize = 2;

/// A row group that is being read.
pub struct RowGroupScan {
    file: Arc<FileProvenance>,
    open: OpenFile,
    pages: Pages,
    projection: Arc<Projection>,
    group: RowGroup,
    levels: LevelCheck,
    /// The number of its next row.
    next_row: u64,
    /// `None` if it still has to be opened at `next_row`.
    reader: Option<ParquetRecordBatchReader>,
    /// The average size of a row, according to the footer.
    row_bytes: u64,
    /// The target size of a block, and the number of rows to read at a time.
    block_bytes: usize,
    block_rows: u64,
    /// Rows that have been read, from the next one on.
    pending: Option<RecordBatch>,
    /// The error of the next row, and how many rows are lost because of it.
    fault: Option<(Error, u64)>,
    /// After an error: the number of lost rows.
    lost: Option<u64>,
}

impl RowGroupScan {
    /// Starts at a position.
    pub fn new(
        file: &Arc<FileProvenance>,
        (open, pages): (OpenFile, Pages),
        projection: Arc<Projection>,
        least_bytes: usize,
        group: RowGroup,
        at: RecordPosition,
    ) -> Result<Self> {
        let next_row = at.record.saturating_sub(group.first_row);
        if next_row > group.num_rows {
            return Err(crate::checkpoint::damaged());
        }
        let row_bytes = (group.num_bytes / group.num_rows).max(least_bytes as u64).max(1);
        let (block_bytes, block_rows) = (BLOCK_BYTES, block_rows(BLOCK_BYTES, row_bytes));
        let levels = LevelCheck::of(&projection.mask, projection.footer().row_group(group.number));
        let (file, reader, pending, fault, lost) = (Arc::clone(file), None, None, None, None);
        Ok(Self {
            file,
            open,
            pages,
            projection,
            group,
            levels,
            next_row,
            reader,
            row_bytes,
            block_bytes,
            block_rows,
            pending,
            fault,
            lost,
        })
    }

    fn reader(&self, mask: &ProjectionMask, first: u64, block_rows: u64) -> Parsed<ParquetRecordBatchReader> {
        let (first, block_rows) = (usize::try_from(first)?, usize::try_from(block_rows)?);
        let metadata = self.projection.metadata.clone();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.pages.clone(), metadata);
        let builder = builder.with_row_groups(vec![self.group.number]).with_projection(mask.clone());
        guarded(|| builder.with_batch_size(block_rows).with_offset(first).build())
    }

    /// Reads the rows after those that have been read.
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        let rest = self.group.num_rows - self.next_row;
        if rest == 0 {
            return Ok(None);
        }
        match self.try_read() {
            Ok(Some(rows)) if rows.num_rows() as u64 <= rest => match self.wrong_levels(&rows) {
                Some(error) => {
                    self.lost = Some(rest);
                    Err(error.with_lost(Lost::Records(rest)))
                }
                None => Ok(Some(rows)),
            },
            Ok(Some(_)) => Err(self.damaged(self.next_row, &miscounted(self.group.num_rows))),
            Ok(None) => {
                let text = format!("the values end here, but the footer claims {} rows", self.group.num_rows);
                let at = self.short_column().map(|path| format!("the column '{path}': ")).unwrap_or_default();
                self.lost = Some(rest);
                let error = self.damage(self.next_row, &at, &ParquetError::General(text));
                Err(error.with_lost(Lost::Records(rest)))
            }
            Err(error) => self.before(error),
        }
    }

    fn try_read(&mut self) -> Parsed<Option<RecordBatch>> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.reader(&self.projection.mask, self.next_row, self.block_rows)?,
        };
        let rows = guarded(|| Ok(reader.next().transpose()?))?;
        if let Some(rows) = &rows {
            let most = MOST_TIMES * self.block_bytes;
            let (num_bytes, num_rows) = (rows.get_array_memory_size(), rows.num_rows().max(1));
            if num_bytes > most && self.block_rows > 1 {
                // Strings from a dictionary need more memory than the footer suggests.
                let most_rows = (self.block_bytes / (num_bytes / num_rows).max(1)) as u64;
                self.block_rows = most_rows.clamp(1, self.block_rows);
                return Ok(Some(rows.clone()));
            }
        }
        self.reader = Some(reader);
        Ok(rows)
    }

    /// The error for a column whose pages and footer disagree about nulls.
    fn wrong_levels(&self, rows: &RecordBatch) -> Option<Error> {
        let footer = self.projection.footer();
        let group = footer.row_group(self.group.number);
        let error = |leaf: usize, text: &str| {
            let at = format!("the column '{}': ", group.column(leaf).column_path().string());
            self.damage(self.next_row, &at, &ParquetError::General(text.to_owned()))
        };
        if self.projection.must_check_levels() {
            if let Some(leaf) = self.levels.column_with_levels(&self.pages, group) {
                return Some(error(leaf, "the pages mark nulls, but the footer allows none"));
            }
            self.projection.levels_are_checked();
        }
        let leaf = self.levels.column_without_levels(rows, &self.pages, group)?;
        Some(error(leaf, "the footer allows nulls, but the pages do not mark them"))
    }

    /// Returns the rows before the first one that cannot be read, or its error if there are none.
    fn before(&mut self, error: ParquetError) -> Result<Option<RecordBatch>> {
        self.reader = None;
        let count = |mask: &ProjectionMask| {
            let Ok(mut reader) = self.reader(mask, self.next_row, 1) else { return 0 };
            let mut count = 0;
            while count < self.block_rows && guarded(|| Ok(reader.next().transpose()?)).is_ok_and(|row| row.is_some()) {
                count += 1;
            }
            count
        };
        let num_good = count(&self.projection.mask);
        // If a single column fails there, the error names it.
        let schema = self.projection.footer().file_metadata().schema_descr();
        let is_bad = |leaf: &usize| {
            self.projection.mask.leaf_included(*leaf)
                && count(&ProjectionMask::leaves(schema, [*leaf])) <= num_good
                && num_good < self.block_rows.min(self.group.num_rows - self.next_row)
        };
        let bad = (0..schema.num_columns()).find(is_bad);
        let at = bad.map(|leaf| format!("the column '{}': ", schema.column(leaf).path().string())).unwrap_or_default();
        let fault = match bad {
            Some(leaf) if is_encrypted(&self.open, self.group.number, leaf) => self.encrypted(leaf),
            _ => self.damage(self.next_row + num_good, &at, &error),
        };
        let rest = self.group.num_rows - self.next_row - num_good;
        if num_good == 0 {
            self.lost = Some(rest);
            return Err(fault.with_lost(Lost::Records(rest)));
        }
        let good = self
            .reader(&self.projection.mask, self.next_row, num_good)
            .and_then(|mut reader| guarded(|| Ok(reader.next().transpose()?)));
        match good {
            Ok(Some(rows)) if rows.num_rows() as u64 == num_good => {
                self.fault = Some((fault, rest));
                Ok(Some(rows))
            }
            _ => {
                let rest = rest + num_good;
                self.lost = Some(rest);
                Err(self.damage(self.next_row, &at, &error).with_lost(Lost::Records(rest)))
            }
        }
    }

    /// Returns the path of the first column that has no next row.
    fn short_column(&self) -> Option<String> {
        let schema = self.projection.footer().file_metadata().schema_descr();
        let is_short = |leaf: &usize| {
            let reader = self.reader(&ProjectionMask::leaves(schema, [*leaf]), self.next_row, 1);
            self.projection.mask.leaf_included(*leaf)
                && reader.is_ok_and(|mut reader| guarded(|| Ok(reader.next().is_none())).unwrap_or(false))
        };
        (0..schema.num_columns()).find(is_short).map(|leaf| schema.column(leaf).path().string())
    }

    fn damaged(&mut self, row: u64, error: &ParquetError) -> Error {
        let rest = self.group.num_rows - row;
        self.lost = Some(rest);
        self.damage(row, "", error).with_lost(Lost::Records(rest))
    }

    /// The error for damage at a row. The file may have been changed.
    fn damage(&self, row: u64, at: &str, error: &ParquetError) -> Error {
        if let Err(error) = self.check_unchanged() {
            return error;
        }
        let what = format!("{}{at}", self.position(row));
        failed(&self.file, what.trim_end_matches(": "), error)
    }

    /// The error for an encrypted column.
    fn encrypted(&self, leaf: usize) -> Error {
        let path = self.projection.footer().file_metadata().schema_descr().column(leaf).path().string();
        Error::invalid_argument(format!(
            "{}: row group {}: the column '{path}' is encrypted, expected a plain column. List only the other \
             columns in columns, or decrypt it first: for example, read the file with pyarrow and the keys, and write \
             it again.",
            self.file.name.text(),
            self.group.number
        ))
    }

    fn position(&self, row: u64) -> String {
        let record = self.file.numbering.of(self.group.first_row.saturating_add(row));
        format!("{record}, in row group {}: ", self.group.number)
    }

    fn check_unchanged(&self) -> Result<()> {
        match self.file.name.url() {
            // All of its parts are requested with its tag.
            Some(_) => Ok(()),
            None => check_unchanged(&self.file, self.open.status(), &self.file.name.status()?),
        }
    }

    fn block(&mut self, cut: Cut, mut charge: Charge) -> Result<Block> {
        let first = self.group.first_row + self.next_row;
        self.next_row += cut.num_read as u64;
        if self.next_row == self.group.num_rows {
            // Don't keep the row group in memory while its last block is waiting.
            self.reader = None;
            self.pages.forget();
        }
        let block = cut.block(&self.file, first)?;
        charge.correct(block.held_bytes());
        Ok(block.charged(charge))
    }
}

/// The number of rows in a block.
fn block_rows(block_bytes: usize, row_bytes: u64) -> u64 {
    (block_bytes as u64 / row_bytes).clamp(1, MAX_ROWS)
}

fn miscounted(num_rows: u64) -> ParquetError {
    ParquetError::General(format!("the row group has more rows than the {num_rows} that the footer claims"))
}

impl Scan for RowGroupScan {
    fn position(&self) -> RecordPosition {
        let record = self.group.first_row.saturating_add(self.next_row);
        RecordPosition { offset_bytes: self.group.offset_bytes, record }
    }

    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        if self.lost.is_some() {
            return Ok(None);
        }
        loop {
            let rows = match self.pending.take() {
                Some(rows) => rows,
                None => {
                    if let Some((error, rest)) = self.fault.take() {
                        self.lost = Some(rest);
                        return Err(error.with_lost(Lost::Records(rest)));
                    }
                    match self.read()? {
                        Some(rows) => rows,
                        None => return self.check_unchanged().map(|()| None),
                    }
                }
            };
            let cut = self.projection.readers.cut(&rows)?;
            let behind = |count: usize| (count < rows.num_rows()).then(|| rows.slice(count, rows.num_rows() - count));
            if cut.num_rows > 0 {
                self.pending = behind(cut.num_read);
                return self.block(cut, charge).map(Some);
            }
            self.next_row += cut.num_read as u64;
            if let Some(text) = cut.fault {
                self.pending = behind(cut.num_read + 1);
                self.lost = Some(1);
                let text = format!("{}: {}{text}", self.file.name.text(), self.position(self.next_row));
                return Err(Error::invalid_argument(text));
            }
        }
    }

    fn go_on(&mut self) -> bool {
        let Some(lost) = self.lost.take() else { return false };
        self.next_row = self.group.num_rows.min(self.next_row.saturating_add(lost));
        true
    }

    fn held_bytes(&self) -> Option<usize> {
        Some(self.pages.held_bytes(self.reader.is_some()))
    }

    fn set_block_bytes(&mut self, num_bytes: usize) {
        (self.block_bytes, self.block_rows) = (num_bytes, block_rows(num_bytes, self.row_bytes));
        // The reader would return the same number of rows as before.
        self.reader = None;
    }
}
