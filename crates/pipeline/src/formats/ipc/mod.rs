//! Arrow IPC files and streams. Each record batch is a separate part, so several can be read at
//! the same time.

mod batch;
mod messages;
mod scan;

use crate::blocks::file_provenance::{FileProvenance, RequestedParts};
use crate::formats::arrow::reader::{ColumnKind, Readers, TableQuery, kinds};
use crate::formats::arrow::types::row_bytes;
use crate::formats::ipc::batch::{Bytes, Dictionaries, fill_empty};
use crate::formats::ipc::messages::{Batch, MessageSpan, Table};
use crate::formats::ipc::scan::{BLOCK_BYTES, BatchScan};
use crate::formats::parquet::file::{OpenFile, check_unchanged};
use crate::formats::parquet::footers::each;
use crate::records::{Format, RecordPosition, Scan};
use headrace_engine::error::{Error, Lost, Result};
use headrace_engine::tensor::allocate;
use std::io;
use std::sync::Arc;

/// A compressed batch is estimated to need this many times its size.
const COMPRESSED_TIMES: u64 = 4;

/// Some columns of Arrow files.
pub struct Ipc {
    tables: Vec<FileTable>,
    /// The minimum size in bytes of a row.
    row_bytes: usize,
}

struct FileTable {
    table: Table,
    readers: Arc<Readers>,
}

/// Returns the named columns of a file, or all of them, with their names.
pub fn arrow_columns(file: &FileProvenance, names: Option<&[String]>) -> Result<Vec<(String, ColumnKind)>> {
    kinds(file, Table::of(file)?.schema.fields(), names)
}

/// Returns the number of rows in each file.
pub fn arrow_counts(files: &[Arc<FileProvenance>]) -> Result<Vec<u64>> {
    each(files, |file| Ok(Table::of(file)?.batches.iter().map(|batch| batch.num_rows).sum()))
}

impl Ipc {
    /// Examines all files and checks that each has these components. Rows must meet all conditions.
    /// Also returns the record batches that have rows, as parts of the files.
    pub fn new(files: &[Arc<FileProvenance>], query: &TableQuery) -> Result<(Self, Arc<[Arc<FileProvenance>]>)> {
        let Some(first) = files.first() else { return Ok((Self { tables: Vec::new(), row_bytes: 0 }, Arc::default())) };
        let tables = each(files, |file| {
            let table = Table::of(file)?;
            let fields = table.schema.fields();
            let readers = Arc::new(Readers::new(file, fields, query, first)?);
            Ok(FileTable { table, readers })
        })?;
        let part = |(file, file_table): (&Arc<FileProvenance>, &FileTable)| {
            let file = Arc::clone(file);
            (0..file_table.table.batches.len()).map(move |part| file.in_part(part)).collect::<Vec<_>>()
        };
        let parts = files.iter().zip(&tables).flat_map(part).collect();
        Ok((Self { tables, row_bytes: query.components.iter().map(row_bytes).sum() }, parts))
    }

    fn batch(&self, file: &FileProvenance) -> Result<(&FileTable, &Batch)> {
        let file_table = usize::try_from(file.number).ok().and_then(|number| self.tables.get(number));
        let batch =
            file_table.and_then(|file_table| file_table.table.batches.get(file.part).map(|batch| (file_table, batch)));
        batch.ok_or_else(|| Error::internal(format!("{}: record batch {} does not exist", file.name.text(), file.part)))
    }
}

/// Reads the bytes of a message: its metadata and its body.
fn read(file: &FileProvenance, open: &OpenFile, span: &MessageSpan) -> Result<Vec<u8>> {
    let range = span.range();
    let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    open.read(range.start, length).map_err(|error| Error::io(file.name.text(), &error))
}

/// Returns the requested bytes of a message in a remote file.
fn requested(file: &FileProvenance, span: &MessageSpan, begun: RequestedParts) -> Result<(OpenFile, Vec<u8>)> {
    let RequestedParts { file: positioned, status, coming } = begun;
    let range = span.range();
    let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let name = file.name.text();
    let mut bytes = allocate::zeros(length).map_err(|refusal| refusal.at(name))?;
    let wait = |error: io::Error| Error::io(name, &error);
    coming.wait(&mut [&mut bytes[..]]).map_err(wait)?;
    Ok((OpenFile::new(positioned, status), bytes))
}

impl Format for Ipc {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        let (FileTable { table, readers }, batch) = self.batch(file)?;
        let (open, bytes) = match file.take_parts() {
            Some(begun) => requested(file, &batch.span, begun)?,
            None => {
                // No other version of a remote file may be read.
                let status = file.name.url().map(|_| &table.status);
                let open = OpenFile::open(file, status)?;
                check_unchanged(file, &table.status, open.status())?;
                let bytes = read(file, &open, &batch.span)?;
                (open, bytes)
            }
        };
        check_unchanged(file, &table.status, open.status())?;
        let rest = batch.first_row.saturating_add(batch.num_rows).saturating_sub(at.record);
        let decoded = || {
            let mut dictionaries = Dictionaries::new();
            for span in &table.dictionaries[..batch.num_dictionaries] {
                Bytes::new(file, span, read(file, &open, span)?).add_dictionary(table, &mut dictionaries)?;
            }
            fill_empty(&mut dictionaries);
            Bytes::new(file, &batch.span, bytes).rows(table, batch, readers.roots(), &dictionaries)
        };
        let rows = decoded().map_err(|error| error.with_lost(Lost::Records(rest)))?;
        Ok(Box::new(BatchScan::new(file, Arc::clone(readers), batch.clone(), rows, at)?))
    }

    fn begin(&self, file: &FileProvenance, _num_bytes: usize) {
        // Errors occur again when the record batch is opened.
        if file.name.url().is_some()
            && let Ok((FileTable { table, .. }, batch)) = self.batch(file)
            && let Ok((positioned, status)) = file.begin_parts(Some(&table.status)).and_then(|begun| begun.wait())
            && let Some(coming) = positioned.begin(std::iter::once(batch.span.range()))
        {
            file.keep_parts(RequestedParts { file: positioned, status, coming });
        }
    }

    fn block_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    /// The whole batch.
    fn open_bytes(&self, file: &FileProvenance) -> usize {
        let Ok((_, batch)) = self.batch(file) else { return 0 };
        let MessageSpan { metadata_bytes, body_bytes, .. } = batch.span;
        let times = if batch.is_compressed { 1 + COMPRESSED_TIMES } else { 1 };
        let least = batch.num_rows.saturating_mul(self.row_bytes as u64);
        usize::try_from(body_bytes.saturating_mul(times).max(least).saturating_add(metadata_bytes))
            .unwrap_or(usize::MAX)
    }

    /// Returns the offset of the record batch.
    fn offset(&self, file: &FileProvenance, record: u64) -> Option<u64> {
        let (_, batch) = self.batch(file).ok()?;
        let is_here = record.checked_sub(batch.first_row).is_some_and(|row| row < batch.num_rows);
        is_here.then_some(batch.span.offset)
    }

    fn has_parts(&self) -> bool {
        true
    }
}
