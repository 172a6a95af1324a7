//! The footers of Parquet files: their columns and row groups.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::arrow::reader::{ColumnKind, Reader, Readers, TableQuery, kinds};
use crate::formats::arrow::types::field_read_as;
use crate::formats::parquet::file::{OpenFile, arrow_metadata, failed, guarded};
use crate::formats::parquet::int96::Int96Columns;
use crate::formats::parquet::list_layouts::int96_as_bytes;
use crate::formats::parquet::row_sizes::check_row_sizes;
use crate::formats::parquet::statistics::Described;
use crate::formats::parquet::{PAGE_BYTES, PAGE_VALUES};
use arrow_schema::{Field, Schema};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::storage::Status;
use headrace_engine::run::check_current;
use headrace_engine::sync::Mutex;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::SchemaDescriptor;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// The maximum number of threads that read footers of local and of remote files.
const MAX_THREADS: [usize; 2] = [8, 32];
/// The maximum number of bytes to request when a remote row group is opened, for all columns
/// together, and the minimum for each column.
const WINDOW_BYTES: [u64; 2] = [32 << 20, 256 << 10];
/// If the gap between two columns of a remote file is at most this long, it is read too.
const GAP_BYTES: u64 = 64 * 1024;

/// The number of bytes to request at once for each column of a remote row group.
pub fn window_bytes(num_columns: usize) -> u64 {
    (WINDOW_BYTES[0] / (num_columns as u64).max(1)).max(WINDOW_BYTES[1])
}

/// The range of a row group's column in its file.
pub fn chunk_range(column: &ColumnChunkMetaData) -> Range<u64> {
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    let start = number(column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset()));
    start..start.saturating_add(number(column.compressed_size()))
}

/// The row groups of a file, leaving out empty ones.
pub struct FileTable {
    /// The status of the file when its footer was read.
    pub status: Status,
    /// The row groups.
    pub groups: Vec<RowGroup>,
}

/// A row group.
#[derive(Clone, Debug)]
pub struct RowGroup {
    /// The number of the row group in the file.
    pub number: usize,
    /// The number of rows before the row group.
    pub first_row: u64,
    /// The number of its rows, at least 1.
    pub num_rows: u64,
    /// The offset of its first byte.
    pub offset_bytes: u64,
    /// The uncompressed size of the requested columns, according to the footer.
    pub num_bytes: u64,
    /// The estimated uncompressed size of the largest page, summed over the requested columns.
    pub page_bytes: u64,
    /// The ranges of a remote file to request when the row group is opened.
    pub ranges: Arc<[Range<u64>]>,
}

/// A footer, and which columns of the file are requested.
pub struct Projection {
    /// The footer.
    pub metadata: ArrowReaderMetadata,
    /// The requested columns.
    pub mask: ProjectionMask,
    /// The readers of the components.
    pub readers: Readers,
    /// True if the levels of columns without nulls have been checked in a row group.
    are_levels_checked: AtomicBool,
}

/// Returns the named columns of a file, or all of them.
pub fn parquet_columns(file: &FileProvenance, names: Option<&[String]>) -> Result<Vec<(String, ColumnKind)>> {
    let footer = Arc::new(OpenFile::open(file, None)?.footer(file)?);
    let (_, schema) = schema_of(file, &footer)?;
    kinds(file, schema.fields(), names)
}

/// Returns the columns of a footer, with Arrow types.
fn schema_of(file: &FileProvenance, footer: &Arc<ParquetMetaData>) -> Result<(Int96Columns, Schema)> {
    let metadata = arrow_metadata(file, Arc::clone(footer), ArrowReaderOptions::new())?;
    let int96 = Int96Columns::of(footer.file_metadata());
    let schema = int96.seen(metadata.schema(), footer);
    Ok((int96, schema))
}

/// Returns the number of rows in each file.
pub fn parquet_counts(files: &[Arc<FileProvenance>]) -> Result<Vec<u64>> {
    each(files, |file| {
        let footer = OpenFile::open(file, None)?.footer(file)?;
        footer.row_groups().iter().try_fold(0, |sum: u64, group| Ok(sum.saturating_add(num_rows(file, group)?)))
    })
}

/// Returns the row groups of files that must have these columns, without row groups in which no row
/// can meet the conditions.
pub fn tables(files: &[Arc<FileProvenance>], query: &TableQuery) -> Result<Vec<FileTable>> {
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    each(files, |file| {
        let open = OpenFile::open(file, None)?;
        let projection = Projection::of(file, open.footer(file)?, query, first)?;
        let mut first_row: u64 = 0;
        let mut groups = Vec::new();
        for (number, group) in projection.footer().row_groups().iter().enumerate() {
            let num_rows = num_rows(file, group)?;
            let described = Described { schema: projection.metadata.schema(), footer: projection.footer() };
            if num_rows > 0 && described.may_be_met(&projection.readers, group) {
                let (offset_bytes, num_bytes) = projection.extent(file, group, number)?;
                let ranges = if open.is_remote() { projection.first_ranges(group) } else { Arc::default() };
                let page_bytes = projection.page_bytes(group);
                groups.push(RowGroup { number, first_row, num_rows, offset_bytes, num_bytes, page_bytes, ranges });
            }
            first_row = first_row.saturating_add(num_rows);
        }
        Ok(FileTable { status: open.status().clone(), groups })
    })
}

fn num_rows(file: &FileProvenance, group: &RowGroupMetaData) -> Result<u64> {
    u64::try_from(group.num_rows()).map_err(|_| {
        let text = "the footer claims a row group with a negative number of rows. The file is damaged; copy it again.";
        Error::data_loss(format!("{}: {text}", file.name.text()))
    })
}

/// Calls a function for each file, for several files concurrently. If it fails for several files,
/// returns the error of the first.
pub fn each<T: Send>(
    files: &[Arc<FileProvenance>],
    work: impl Fn(&FileProvenance) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let num_threads = match files.iter().any(|file| file.name.url().is_some()) {
        // The threads mostly wait.
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
                // Files after this one no longer matter.
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
    /// Fails unless the components can be read from the file. `first` is the first file of the
    /// table.
    pub fn of(
        file: &FileProvenance,
        footer: ParquetMetaData,
        query: &TableQuery,
        first: &FileProvenance,
    ) -> Result<Self> {
        let footer = Arc::new(footer);
        let (int96, seen) = schema_of(file, &footer)?;
        let readers = Readers::new(file, seen.fields(), query, first)?;
        check_row_sizes(file, &footer, seen.fields(), readers.roots())?;
        let footer = match int96.are_bytes() {
            false => footer,
            true => {
                let unread = |error| failed(file, "cannot read the footer", &error);
                Arc::new(guarded(|| int96_as_bytes(Arc::unwrap_or_clone(footer))).map_err(unread)?)
            }
        };
        let stored = int96.stored(&seen);
        let fields = stored.fields();
        let read_as = |(index, field): (usize, &Arc<Field>)| match readers.roots().contains(&index) {
            true => Arc::new(field_read_as(field)),
            false => Arc::clone(field),
        };
        let read: Vec<_> = fields.iter().enumerate().map(read_as).collect();
        let schema = Arc::new(Schema::new(read).with_metadata(stored.metadata().clone()));
        let mask = leaves(footer.file_metadata().schema_descr(), &readers);
        let metadata = arrow_metadata(file, footer, ArrowReaderOptions::new().with_schema(schema))?;
        Ok(Self { metadata, mask, readers, are_levels_checked: AtomicBool::new(false) })
    }

    /// Returns true until a row group has shown that columns without nulls have no levels.
    pub fn must_check_levels(&self) -> bool {
        !self.are_levels_checked.load(Ordering::Relaxed)
    }

    /// Records that a row group has shown this.
    pub fn levels_are_checked(&self) {
        self.are_levels_checked.store(true, Ordering::Relaxed);
    }

    /// The number of Parquet columns to read. Each field of a struct counts as one.
    pub fn num_leaves(&self) -> usize {
        let num_columns = self.footer().file_metadata().schema_descr().num_columns();
        (0..num_columns).filter(|leaf| self.mask.leaf_included(*leaf)).count()
    }

    /// The whole footer.
    pub fn footer(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// The memory that it uses, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.footer().memory_size()
    }

    /// Returns the ranges to request first for the columns of a row group, up to a limit for all of
    /// them.
    fn first_ranges(&self, group: &RowGroupMetaData) -> Arc<[Range<u64>]> {
        let leaves = (0..group.num_columns()).filter(|leaf| self.mask.leaf_included(*leaf));
        let mut ranges: Vec<_> = leaves.map(|leaf| chunk_range(group.column(leaf))).collect();
        let most = window_bytes(ranges.len());
        ranges.iter_mut().for_each(|range| range.end = range.end.min(range.start.saturating_add(most)));
        ranges.sort_unstable_by_key(|range| range.start);
        let is_near = |one: &Range<u64>, other: &Range<u64>| other.start.saturating_sub(one.end) <= GAP_BYTES;
        let joined = |near: &[Range<u64>]| near[0].start..near.iter().map(|range| range.end).max().unwrap_or(0);
        ranges.chunk_by(is_near).map(joined).collect()
    }

    /// The estimated uncompressed size of the largest page, summed over the requested columns.
    fn page_bytes(&self, group: &RowGroupMetaData) -> u64 {
        let leaves = (0..group.num_columns()).filter(|leaf| self.mask.leaf_included(*leaf));
        leaves.map(|leaf| page_bytes(group.column(leaf))).fold(0, u64::saturating_add)
    }

    /// Returns the offset of a row group and the uncompressed size of its requested columns. Fails
    /// if the columns are outside the file or cannot be decompressed.
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
                    "{} is compressed with LZO, expected snappy, gzip, zstd, brotli or lz4. Rewrite the file, or \
                     omit the column with columns=[...].",
                    at()
                )));
            }
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            let sizes = [start, chunk.compressed_size(), chunk.uncompressed_size()];
            let [Ok(start), Ok(_), Ok(uncompressed)] = sizes.map(u64::try_from) else {
                return Err(Error::data_loss(format!(
                    "{}: the footer has a negative size or offset. The file is damaged; copy it again.",
                    at()
                )));
            };
            offset_bytes = offset_bytes.min(start);
            num_bytes = num_bytes.saturating_add(uncompressed);
        }
        Ok((if offset_bytes == u64::MAX { 0 } else { offset_bytes }, num_bytes))
    }
}

/// The estimated uncompressed size of a column's largest page.
fn page_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    let num_bytes = number(chunk.uncompressed_size());
    let value_bytes = num_bytes / number(chunk.num_values()).max(1);
    num_bytes.min(value_bytes.saturating_mul(PAGE_VALUES).saturating_add(PAGE_BYTES))
}

/// The Parquet columns that readers need.
fn leaves(schema: &SchemaDescriptor, readers: &Readers) -> ProjectionMask {
    let is_needed = |leaf: usize| {
        let column = schema.column(leaf);
        let parts = column.path().parts();
        readers.iter().any(|reader: &Reader| {
            let mut rest = parts.iter().skip(1);
            // A path also contains the names of lists, between the names of fields.
            reader.root() == Some(schema.get_column_root_idx(leaf))
                && reader.path().iter().all(|name| rest.any(|part| part == name))
        })
    };
    ProjectionMask::leaves(schema, (0..schema.num_columns()).filter(|leaf| is_needed(*leaf)))
}
