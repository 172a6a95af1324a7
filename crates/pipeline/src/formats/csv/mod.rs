//! Splits CSV files into records, usually one per line. A line end inside quotes belongs to its
//! field.
//!
//! This module only finds where records end. [`CsvFields`](crate::stages::csv::CsvFields) parses
//! the fields of many records at a time, in parallel.
//!
//! Source: RFC 4180. In addition, blank lines and a byte order mark are skipped, and a line may end
//! with only a line feed.

pub mod records;

use crate::blocks::block::Block;
use crate::blocks::column::Span;
use crate::blocks::file_provenance::{FileProvenance, Layout};
use crate::budget::Budget;
use crate::formats::chunks::{CHUNK_BYTES, ChunkRecords, Chunks, Fault, Numbers, Split, scan};
use crate::formats::csv::records::{Misfit, Records, Step};
use crate::formats::lines::is_of_lines;
use crate::formats::text_start::not_a_text;
use crate::records::{Codec, FilePart, Format, HeaderScan, RandomAccess, RecordPosition, Scan, ScanResult};
use headrace_engine::error::{Error, Lost, Result};
use headrace_engine::kernels::records::decode_csv::split::Dialect;
use headrace_engine::order;
use headrace_engine::text::excerpt::excerpt;
use std::sync::Arc;

/// CSV files.
#[derive(Clone)]
pub struct Csv {
    /// The compression of the files.
    pub codec: Codec,
    /// The delimiter between fields.
    pub delimiter: u8,
    /// The requested columns.
    pub columns: Columns,
}

/// The requested columns.
#[derive(Clone)]
pub enum Columns {
    /// The columns with these names. The first record of each file is a header.
    Named(Arc<[String]>),
    /// All columns, this many. The files have no header.
    All(usize),
    /// Not known yet. The first record is treated like the others.
    Unknown,
}

impl Format for Csv {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        // Another pass may find another header.
        let file = file.reopened();
        let open = |at| {
            let splitter = Splitter { file: Arc::clone(&file), csv: self.clone() };
            Chunks::open(&file, self.codec, splitter, at)
        };
        if at.offset_bytes > 0 {
            // The header applies to the records after it. The first of them may be invalid.
            let first = open(RecordPosition::default())?.next(Budget::new(usize::MAX).charge(0));
            if file.layout.get().is_none() {
                first?;
            }
        }
        Ok(Box::new(open(at)?))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn open_part(&self, file: &Arc<FileProvenance>, part: FilePart) -> Result<Box<dyn Scan>> {
        let file = match &part.layout {
            Some(layout) => file.laid_out(layout),
            None => file.reopened(),
        };
        let splitter = Splitter { file: Arc::clone(&file), csv: self.clone() };
        Ok(Box::new(Chunks::of_part(&file, splitter, part)?))
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl RandomAccess for Csv {
    fn codec(&self) -> Codec {
        self.codec
    }

    fn kind(&self) -> Option<String> {
        let delimiter = self.delimiter;
        match &self.columns {
            Columns::Named(_) => Some(format!("csv, delimiter {delimiter}, header")),
            Columns::All(count) => Some(format!("csv, delimiter {delimiter}, {count} columns")),
            Columns::Unknown => None,
        }
    }

    fn layout(&self, file: &Arc<FileProvenance>) -> Result<Option<Arc<Layout>>> {
        if let Columns::All(count) = &self.columns {
            return Ok(Some(Arc::new(Layout::of_all(*count))));
        }
        let file = file.reopened();
        let splitter = Splitter { file: Arc::clone(&file), csv: self.clone() };
        let mut chunks = Chunks::open(&file, self.codec, splitter, RecordPosition::default())?;
        let first = chunks.next(Budget::new(usize::MAX).charge(0));
        match file.layout.get() {
            Some(layout) => Ok(Some(Arc::clone(layout))),
            None => first.map(|_| None),
        }
    }

    fn has_lead(&self) -> bool {
        true
    }

    fn is_record(&self, lead: &[u8], frame: &[u8], is_last: bool) -> bool {
        is_of_lines(lead, frame, is_last)
    }

    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        let file = file.reopened();
        let splitter = Splitter { file: Arc::clone(&file), csv: self.clone() };
        let result = scan(&file, splitter, input.len())?;
        Ok(ScanResult { layout: file.layout.get().cloned(), ..result })
    }

    fn fits(&self, layout: &Layout) -> bool {
        match &self.columns {
            Columns::Named(names) => layout.names == *names,
            Columns::All(count) => layout.names.is_empty() && layout.num_fields == *count,
            Columns::Unknown => false,
        }
    }

    /// The frame may include blank lines after the record, which are skipped.
    fn unframe(&self, _file: &Arc<FileProvenance>, frame: &[u8], at: RecordPosition) -> Result<Span> {
        match Records::new(frame, at, true, self.delimiter).next() {
            Some(Step::Record(span, _)) => Ok(span),
            _ => Err(Error::internal("a CSV record from an earlier scan is missing")),
        }
    }
}

/// Returns the first block that has records after the header. The header comes first. There may be
/// no other records.
pub fn first_records(file: &Arc<FileProvenance>, codec: Codec, delimiter: u8) -> Result<Vec<Block>> {
    let csv = Csv { codec, delimiter, columns: Columns::Unknown };
    let mut scan = csv.open(file, RecordPosition::default())?;
    let mut blocks: Vec<Block> = Vec::new();
    while blocks.iter().map(Block::num_rows).sum::<usize>() < 2 {
        match scan.next(Budget::new(usize::MAX).charge(0)) {
            Ok(Some(block)) => blocks.push(block),
            Ok(None) => break,
            // Invalid records are reported when they are read, except for the header.
            Err(_) if !blocks.is_empty() && scan.go_on() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(blocks)
}

struct Splitter {
    file: Arc<FileProvenance>,
    csv: Csv,
}

impl Split for Splitter {
    fn split(&mut self, chunk: &[u8], at: RecordPosition, is_last: bool) -> ChunkRecords {
        let mut records = Records::new(chunk, at, is_last, self.csv.delimiter);
        let mut chunk_records = ChunkRecords::default();
        if at.offset_bytes == 0
            && let Some(error) = not_a_text(&self.file, chunk, is_last, true)
        {
            chunk_records.fault = Some(error.into());
            return chunk_records;
        }
        if at.offset_bytes == 0 && !self.find_columns(&mut records, &mut chunk_records) {
            return chunk_records;
        }
        let mut records = records.of_fields(self.file.layout.get().map(|layout| layout.num_fields));
        let mut numbers = Vec::new();
        chunk_records.used = records.at;
        let mut next = records.number;
        while let Some(step) = records.next() {
            match step {
                Step::Record(span, number) if span.length > 0 => {
                    if records.is_of_any_fields() && at.offset_bytes == 0 {
                        // It is the header.
                        let count = records.count_fields(&chunk[span.start..][..span.length]);
                        records = records.of_fields(count);
                    }
                    chunk_records.spans.push(span);
                    numbers.push(number);
                }
                Step::Record(..) => {}
                Step::Misfit(misfit) => {
                    let extent = Some(misfit.extent());
                    chunk_records.fault = Some(Fault { error: self.misfit(&misfit), extent });
                    break;
                }
            }
            (chunk_records.used, next) = (records.at, records.number);
        }
        chunk_records.numbers = Some(Numbers { of_records: numbers, next });
        chunk_records
    }
}

impl Splitter {
    /// Determines the columns. Returns whether records may follow.
    fn find_columns(&self, records: &mut Records, chunk_records: &mut ChunkRecords) -> bool {
        let layout = match &self.csv.columns {
            Columns::Unknown => return true,
            Columns::All(count) => Ok(Layout::of_all(*count)),
            Columns::Named(names) => match records.find(|step| !step.is_blank()) {
                Some(Step::Record(span, number)) => {
                    self.layout(&records.chunk[span.start..][..span.length], number, names)
                }
                Some(Step::Misfit(misfit)) => Err(self.misfit(&misfit).with_lost(Lost::Unknown)),
                None => return false,
            },
        };
        match layout {
            Ok(layout) => {
                // The header is read again if no record follows it yet.
                let _ = self.file.layout.set(Arc::new(layout));
                true
            }
            Err(error) => {
                chunk_records.fault = Some(error.into());
                false
            }
        }
    }

    /// The error for an invalid record.
    #[cold]
    fn misfit(&self, misfit: &Misfit) -> Error {
        let position = format!("{}: {}", self.file.name.text(), self.file.record_name(misfit.number));
        let text = misfit.text(|number| self.file.record_name(number));
        Error::invalid_argument(format!("{position}: {text}")).with_lost(Lost::Records(misfit.num_lines))
    }

    /// Locates the named columns in a header.
    fn layout(&self, header: &[u8], number: u64, names: &Arc<[String]>) -> Result<Layout> {
        let position = || format!("{}: {}", self.file.name.text(), self.file.record_name(number));
        let there = header_names(header, self.csv.delimiter)
            .map_err(|misfit| Error::invalid_argument(format!("{}: {misfit}. Correct the header.", position())))?;
        let mut found_fields = Vec::new();
        for (column, name) in names.iter().enumerate() {
            let mut fields = there.iter().enumerate().filter(|(_, other)| *other == name).map(|(field, _)| field);
            match (fields.next(), fields.next()) {
                (Some(field), None) => found_fields.push((field, column)),
                (None, _) => return Err(no_column(&position(), name, &there)),
                (Some(_), Some(_)) => {
                    return Err(Error::invalid_argument(format!(
                        "{}: the header has two columns '{name}', expected one. Rename one of them.",
                        position()
                    )));
                }
            }
        }
        let positions = order::by_key(found_fields.len(), |position| found_fields[position]);
        let fields = positions.into_iter().map(|position| found_fields[position]).collect();
        Ok(Layout { names: Arc::clone(names), fields, num_fields: there.len() })
    }
}

#[cold]
fn no_column(position: &str, name: &str, there: &[String]) -> Error {
    let there = there.join(", ");
    Error::invalid_argument(format!(
        "{position}: the header has no column '{name}', only {}. Correct the names; if the files have no header, pass \
         header=False and the columns in order.",
        excerpt(there.as_bytes())
    ))
}

/// Returns the names in a header.
pub fn header_names(header: &[u8], delimiter: u8) -> std::result::Result<Vec<String>, &'static str> {
    let dialect = Dialect::strict(delimiter, true);
    dialect.split(header).map(|field| field.map(|name| String::from_utf8_lossy(&name).into_owned())).collect()
}
