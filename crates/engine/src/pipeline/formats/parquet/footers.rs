//! The footers of Parquet files: their columns and row groups.

use crate::error::{Error, Result};
use crate::files::storage::Status;
use crate::pipeline::blocks::file_provenance::FileProvenance;
use crate::pipeline::formats::arrow::types::{TableColumn, read_as, words};
use crate::pipeline::formats::parquet::file::{OpenFile, arrow_metadata};
use crate::run::check_current;
use crate::sync::Mutex;
use arrow_schema::{Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The most threads that read footers: of local files, and of remote ones.
const MAX_THREADS: [usize; 2] = [8, 32];
/// Limit on the bytes requested when a remote row group is opened, for all columns together, and
/// the least for each of them.
const WINDOW_BYTES: [u64; 2] = [32 << 20, 256 << 10];
/// A gap between two columns of a remote file is read too if it is at most this long.
const GAP_BYTES: u64 = 64 * 1024;

/// The bytes of each of some columns of a remote row group that are requested at once.
pub fn window_bytes(num_columns: usize) -> u64 {
    (WINDOW_BYTES[0] / (num_columns as u64).max(1)).max(WINDOW_BYTES[1])
}

/// The place of a column of a row group in its file.
pub fn chunk_range(column: &ColumnChunkMetaData) -> Range<u64> {
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    let start = number(column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset()));
    start..start.saturating_add(number(column.compressed_size()))
}

/// A column of a file, whether a component can be made of it or not.
pub struct ColumnKind {
    /// Its name.
    pub name: String,
    /// The component; `None` if there is none.
    pub column: Option<TableColumn>,
    /// The type of the column, in words.
    pub words: String,
}

/// The row groups of a file that have rows.
pub struct FileTable {
    /// The status of the file when its footer was read.
    pub status: Status,
    /// The row groups.
    pub groups: Vec<RowGroup>,
}

/// A row group.
#[derive(Clone, Debug)]
pub struct RowGroup {
    /// Its number in the file.
    pub number: usize,
    /// The number of rows before it.
    pub first_row: u64,
    /// The number of its rows, at least 1.
    pub num_rows: u64,
    /// The offset of its first byte.
    pub offset_bytes: u64,
    /// The bytes of the wanted columns before compression, as the footer says.
    pub num_bytes: u64,
    /// The ranges of a remote file that are requested when the row group is opened.
    pub ranges: Arc<[Range<u64>]>,
}

/// A footer, and the columns of the file that are wanted.
pub struct Projection {
    /// The footer.
    pub metadata: ArrowReaderMetadata,
    /// The wanted columns.
    pub mask: ProjectionMask,
    /// The place of each wanted column among those that are read.
    pub places: Vec<usize>,
}

/// The columns of a file, in order.
pub fn parquet_columns(file: &FileProvenance) -> Result<Vec<ColumnKind>> {
    let footer = Arc::new(OpenFile::open(file, None)?.footer(file)?);
    let metadata = arrow_metadata(file, footer, ArrowReaderOptions::new())?;
    Ok(metadata.schema().fields().iter().map(|field| kind(field)).collect())
}

fn kind(field: &Field) -> ColumnKind {
    let column = TableColumn::of(field.name(), field.data_type());
    ColumnKind { name: field.name().clone(), column, words: words(field.data_type()) }
}

/// The number of rows of each file.
pub fn parquet_counts(files: &[Arc<FileProvenance>]) -> Result<Vec<u64>> {
    each(files, |file| {
        let footer = OpenFile::open(file, None)?.footer(file)?;
        footer.row_groups().iter().try_fold(0, |sum: u64, group| Ok(sum.saturating_add(num_rows(file, group)?)))
    })
}

/// The row groups of files that must have these columns.
pub fn tables(files: &[Arc<FileProvenance>], columns: &[TableColumn]) -> Result<Vec<FileTable>> {
    each(files, |file| {
        let open = OpenFile::open(file, None)?;
        let projection = Projection::of(file, open.footer(file)?, columns)?;
        let mut first_row: u64 = 0;
        let mut groups = Vec::new();
        for (number, group) in projection.footer().row_groups().iter().enumerate() {
            let num_rows = num_rows(file, group)?;
            if num_rows > 0 {
                let (offset_bytes, num_bytes) = projection.extent(file, group, number)?;
                let ranges = if open.is_remote() { projection.first_ranges(group) } else { Arc::default() };
                groups.push(RowGroup { number, first_row, num_rows, offset_bytes, num_bytes, ranges });
            }
            first_row = first_row.saturating_add(num_rows);
        }
        Ok(FileTable { status: open.status().clone(), groups })
    })
}

fn num_rows(file: &FileProvenance, group: &RowGroupMetaData) -> Result<u64> {
    u64::try_from(group.num_rows()).map_err(|_| {
        let text = "its footer says that a row group has less than no rows. The file is damaged; copy it again.";
        Error::data_loss(format!("{}: {text}", file.name.text()))
    })
}

/// Calls a function for each file, several at the same time. Returns the error of the first file
/// that has one.
fn each<T: Send>(files: &[Arc<FileProvenance>], work: impl Fn(&FileProvenance) -> Result<T> + Sync) -> Result<Vec<T>> {
    let num_threads = match files.iter().any(|file| file.name.url().is_some()) {
        // They wait most of the time.
        true => MAX_THREADS[1],
        false => thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS[0]),
    };
    let num_threads = num_threads.min(files.len());
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(number) else { return };
            let result = check_current().and_then(|()| work(file));
            if result.is_err() {
                // No file after this one matters.
                next.fetch_max(files.len(), Ordering::Relaxed);
            }
            results.lock().push((number, result));
        }
    };
    thread::scope(|scope| {
        (1..num_threads).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    let mut results = std::mem::take(&mut *results.lock());
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

impl Projection {
    /// Fails unless the file has these columns.
    pub fn of(file: &FileProvenance, footer: ParquetMetaData, columns: &[TableColumn]) -> Result<Self> {
        let footer = Arc::new(footer);
        let metadata = arrow_metadata(file, Arc::clone(&footer), ArrowReaderOptions::new())?;
        let fields = metadata.schema().fields();
        let roots = columns.iter().map(|column| find(file, fields, column)).collect::<Result<Vec<_>>>()?;
        let wanted = |(index, field): (usize, &Arc<Field>)| match roots.contains(&index) {
            true => Arc::new(field.as_ref().clone().with_data_type(read_as(field.data_type()))),
            false => Arc::clone(field),
        };
        let read: Vec<_> = fields.iter().enumerate().map(wanted).collect();
        let schema = Arc::new(Schema::new(read).with_metadata(metadata.schema().metadata().clone()));
        let mask = ProjectionMask::roots(footer.file_metadata().schema_descr(), roots.iter().copied());
        let metadata = arrow_metadata(file, footer, ArrowReaderOptions::new().with_schema(schema))?;
        // Columns are read in the order of the file.
        let mut sorted = roots.clone();
        sorted.sort_unstable();
        let places = roots.iter().map(|root| sorted.partition_point(|other| other < root)).collect();
        Ok(Self { metadata, mask, places })
    }

    /// The whole footer.
    pub fn footer(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// The memory that it takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.footer().memory_size()
    }

    /// The ranges of the wanted columns of a row group, up to a limit for all of them.
    fn first_ranges(&self, group: &RowGroupMetaData) -> Arc<[Range<u64>]> {
        let wanted = (0..group.num_columns()).filter(|leaf| self.mask.leaf_included(*leaf));
        let mut ranges: Vec<_> = wanted.map(|leaf| chunk_range(group.column(leaf))).collect();
        let most = window_bytes(ranges.len());
        ranges.iter_mut().for_each(|range| range.end = range.end.min(range.start.saturating_add(most)));
        ranges.sort_unstable_by_key(|range| range.start);
        let is_near = |one: &Range<u64>, other: &Range<u64>| other.start.saturating_sub(one.end) <= GAP_BYTES;
        let joined = |near: &[Range<u64>]| near[0].start..near.iter().map(|range| range.end).max().unwrap_or(0);
        ranges.chunk_by(is_near).map(joined).collect()
    }

    /// The offset of the first byte of a row group, and the bytes of the wanted columns before
    /// compression. Fails if they lie outside of the file, or cannot be decompressed.
    fn extent(&self, file: &FileProvenance, group: &RowGroupMetaData, number: usize) -> Result<(u64, u64)> {
        let (mut offset_bytes, mut num_bytes) = (u64::MAX, 0_u64);
        for (leaf, chunk) in group.columns().iter().enumerate() {
            if !self.mask.leaf_included(leaf) {
                continue;
            }
            let at =
                || format!("{}: row group {number}: the column '{}'", file.name.text(), chunk.column_path().string());
            if matches!(chunk.compression(), Compression::LZO) {
                return Err(Error::invalid_argument(format!(
                    "{}: it is compressed with LZO, expected snappy, gzip, zstd, brotli or lz4. Write the file again, \
                     or leave the column out, with columns=[...].",
                    at()
                )));
            }
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            let sizes = [start, chunk.compressed_size(), chunk.uncompressed_size()];
            let [Ok(start), Ok(_), Ok(uncompressed)] = sizes.map(u64::try_from) else {
                return Err(Error::data_loss(format!(
                    "{}: its footer has a size or an offset below 0. The file is damaged; copy it again.",
                    at()
                )));
            };
            offset_bytes = offset_bytes.min(start);
            num_bytes = num_bytes.saturating_add(uncompressed);
        }
        Ok((if offset_bytes == u64::MAX { 0 } else { offset_bytes }, num_bytes))
    }
}

/// The number of a column, which a file must have once and with its type.
fn find(file: &FileProvenance, fields: &[Arc<Field>], column: &TableColumn) -> Result<usize> {
    let name = file.name.text();
    let mut found = fields.iter().enumerate().filter(|(_, field)| field.name() == &column.name);
    let (Some((index, field)), others) = (found.next(), found.count()) else {
        let there: Vec<_> = fields.iter().map(|field| format!("'{}'", field.name())).collect();
        return Err(Error::invalid_argument(format!(
            "{name}: there is no column '{}', expected one of {}.",
            column.name,
            there.join(", ")
        )));
    };
    if others > 0 {
        return Err(Error::invalid_argument(format!(
            "{name}: there are {} columns '{}', expected one. Rename one of them, or leave them out, with \
             columns=[...].",
            others + 1,
            column.name
        )));
    }
    match TableColumn::of(field.name(), field.data_type()) {
        Some(is) if is == *column => Ok(index),
        Some(is) => Err(Error::invalid_argument(format!(
            "{name}: the column '{}' is {is}, expected {column}, as in the first file. Write the files with the same \
             types.",
            column.name
        ))),
        None => Err(Error::invalid_argument(format!(
            "{name}: the column '{}' is {}, expected {column}, as in the first file. Write the files with the same \
             types.",
            column.name,
            words(field.data_type())
        ))),
    }
}
