//! Parquet files. Each row group is a separate part that is read from start to end, so several
//! can be read at the same time.

mod counts;
mod encryption;
pub mod file;
pub mod footers;
mod int96;
mod levels;
mod list_layouts;
mod page_header;
mod pages;
mod row_group;
mod row_sizes;
mod schema;
mod statistics;
mod thrift;

pub use footers::{parquet_columns, parquet_counts};

use crate::blocks::file_provenance::{FileProvenance, RequestedParts};
use crate::formats::arrow::reader::TableQuery;
use crate::formats::arrow::types::row_bytes;
use crate::formats::parquet::file::{OpenFile, check_unchanged};
use crate::formats::parquet::footers::{FileTable, Projection, RowGroup, tables};
use crate::formats::parquet::pages::Pages;
use crate::formats::parquet::row_group::RowGroupScan;
use crate::records::{Format, RecordPosition, Scan};
use headrace_engine::error::{Error, Result};
use headrace_engine::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// The target size of a block in bytes.
const BLOCK_BYTES: usize = 512 * 1024;
/// The uncompressed page size that writers aim for, and the number of values after which they check
/// it. Pages of large values are therefore larger.
const PAGE_BYTES: u64 = 1 << 20;
const PAGE_VALUES: u64 = 1024;
/// The memory limit for footers that are kept, in bytes. At least one is kept.
const FOOTERS_BYTES: usize = 16 << 20;

/// Some columns of Parquet files, with the row groups to read.
pub struct Parquet {
    query: TableQuery,
    first: Option<Arc<FileProvenance>>,
    tables: Vec<FileTable>,
    /// The most recently used footers, by file number, latest last.
    footers: Mutex<VecDeque<(u64, Arc<Projection>)>>,
}

impl Parquet {
    /// Reads the footers of all files and checks that each file has these components. Rows must
    /// meet all conditions. Also returns the row groups that have rows, as parts of the files.
    pub fn new(files: &[Arc<FileProvenance>], query: TableQuery) -> Result<(Self, Arc<[Arc<FileProvenance>]>)> {
        let tables = tables(files, &query)?;
        let part = |(file, table): (&Arc<FileProvenance>, &FileTable)| {
            let file = Arc::clone(file);
            (0..table.groups.len()).map(move |part| file.in_part(part)).collect::<Vec<_>>()
        };
        let parts = files.iter().zip(&tables).flat_map(part).collect();
        let first = files.first().cloned();
        Ok((Self { query, first, tables, footers: Mutex::default() }, parts))
    }

    fn group(&self, file: &FileProvenance) -> Result<(&FileTable, &RowGroup)> {
        let table = usize::try_from(file.number).ok().and_then(|number| self.tables.get(number));
        let group = table.and_then(|table| table.groups.get(file.part).map(|group| (table, group)));
        group.ok_or_else(|| Error::internal(format!("{}: row group {} does not exist", file.name.text(), file.part)))
    }

    /// Returns an open file's footer, which may be cached.
    fn projection(&self, file: &FileProvenance, open: &OpenFile) -> Result<Arc<Projection>> {
        let kept = {
            let mut footers = self.footers.lock();
            let position = footers.iter().position(|(number, _)| *number == file.number);
            position.and_then(|position| footers.remove(position)).inspect(|footer| footers.push_back(footer.clone()))
        };
        if let Some((_, projection)) = kept {
            return Ok(projection);
        }
        let first = self.first.as_deref().unwrap_or(file);
        let projection = Arc::new(Projection::of(file, open.footer(file)?, &self.query, first)?);
        let mut footers = self.footers.lock();
        footers.push_back((file.number, Arc::clone(&projection)));
        let mut num_bytes: usize = footers.iter().map(|(_, footer)| footer.memory_bytes()).sum();
        while footers.len() > 1 && num_bytes > FOOTERS_BYTES {
            let dropped = footers.pop_front();
            num_bytes -= dropped.map_or(0, |(_, footer)| footer.memory_bytes());
        }
        Ok(projection)
    }
}

impl Format for Parquet {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        let (table, group) = self.group(file)?;
        let begun = file.take_parts();
        let open = match begun {
            Some(RequestedParts { file, status, coming }) => (OpenFile::new(file, status), Some(coming)),
            None => {
                // No other version of a remote file may be read.
                let status = file.name.url().map(|_| &table.status);
                let open = OpenFile::open(file, status)?;
                let coming = open.positioned().begin(group.ranges.iter().cloned());
                (open, coming)
            }
        };
        let (open, coming) = open;
        check_unchanged(file, &table.status, open.status())?;
        let projection = self.projection(file, &open)?;
        let pages = Pages::new(file, &open, projection.footer().row_group(group.number), projection.num_leaves());
        let pages = match coming {
            Some(coming) => pages.with(&group.ranges, coming)?,
            None => pages,
        };
        let least_bytes = self.query.components.iter().map(row_bytes).sum();
        Ok(Box::new(RowGroupScan::new(file, (open, pages), projection, least_bytes, group.clone(), at)?))
    }

    fn begin(&self, file: &FileProvenance, _num_bytes: usize) {
        // Errors occur again when the row group is opened.
        if file.name.url().is_some()
            && let Ok((table, group)) = self.group(file)
            && let Ok((positioned, status)) = file.begin_parts(Some(&table.status)).and_then(|begun| begun.wait())
            && let Some(coming) = positioned.begin(group.ranges.iter().cloned())
        {
            file.keep_parts(RequestedParts { file: positioned, status, coming });
        }
    }

    fn block_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    /// A page or a dictionary of each column and, for a remote file, the bytes that are requested
    /// at once.
    fn open_bytes(&self, file: &FileProvenance) -> usize {
        let Ok((_, group)) = self.group(file) else { return 0 };
        let requested = group.ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.end - range.start));
        usize::try_from(group.page_bytes.saturating_add(requested)).unwrap_or(usize::MAX)
    }

    /// The largest page before it is decompressed, and the copy of a dictionary.
    fn opening_bytes(&self, file: &FileProvenance) -> usize {
        self.group(file).map_or(0, |(_, group)| usize::try_from(group.page_bytes).unwrap_or(usize::MAX))
    }

    /// Returns the offset of the row group.
    fn offset(&self, file: &FileProvenance, record: u64) -> Option<u64> {
        let (_, group) = self.group(file).ok()?;
        let is_here = record.checked_sub(group.first_row).is_some_and(|row| row < group.num_rows);
        is_here.then_some(group.offset_bytes)
    }

    fn has_parts(&self) -> bool {
        true
    }
}
