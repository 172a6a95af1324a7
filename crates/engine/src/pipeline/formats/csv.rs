//! Comma-separated values: text files of records, which end with lines. A line end between quotes belongs to its field.
//!
//! Records are only found here, by their ends; [`CsvFields`](crate::pipeline::stages::csv::CsvFields) parses the fields of
//! many at a time, in parallel.
//!
//! Source: RFC 4180. Blank lines and a byte order mark are left out, and a line may end with a line feed alone.

use super::chunks::{CHUNK_BYTES, Chunks, Found, Numbers, Split, scan};
use super::codec::Codec;
use super::format::{Format, Place, Scan};
use super::lines::line;
use super::text_start::not_a_text;
use crate::error::{Error, Result};
use crate::kernels::records::decode_csv::split::Dialect;
use crate::order;
use crate::pipeline::budget::Budget;
use crate::pipeline::column::{Column, Span, Text};
use crate::pipeline::file_origin::{FileOrigin, Layout};
use crate::pipeline::index::{Hops, RandomAccess, Scanned};
use crate::text::excerpt::excerpt;
use memchr::{memchr, memchr_iter};
use std::sync::Arc;

const QUOTE: u8 = b'"';
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// CSV files.
#[derive(Clone)]
pub struct Csv {
    /// How the files are compressed.
    pub codec: Codec,
    /// What is between two fields.
    pub delimiter: u8,
    /// Which columns are wanted.
    pub columns: Columns,
}

/// Which columns are wanted.
#[derive(Clone)]
pub enum Columns {
    /// Those of these names, which the first record of each file has.
    Named(Arc<[String]>),
    /// So many, which are all; the files have no header.
    All(usize),
    /// None: the first record is one as the others.
    Unknown,
}

impl Format for Csv {
    fn open(&self, file: &Arc<FileOrigin>, at: Place) -> Result<Box<dyn Scan>> {
        // Another pass may find another header.
        let file = file.reopened();
        let open = |at| {
            let splitter = Splitter { file: Arc::clone(&file), csv: self.clone() };
            Chunks::open(&file, self.codec, splitter, at)
        };
        if at.offset_bytes > 0 {
            // What the header says holds for the records from there on.
            open(Place::default())?.next(Budget::new(usize::MAX).charge(0))?;
        }
        Ok(Box::new(open(at)?))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl RandomAccess for Csv {
    fn codec(&self) -> Codec {
        self.codec
    }

    fn scan(&self, file: &Arc<FileOrigin>, input: &mut Hops) -> Result<Scanned> {
        let file = file.reopened();
        let splitter = Splitter { file: Arc::clone(&file), csv: self.clone() };
        let found = scan(&file, splitter, input.len())?;
        Ok(Scanned { layout: file.layout.get().cloned(), ..found })
    }

    fn fits(&self, layout: &Layout) -> bool {
        match &self.columns {
            Columns::Named(names) => layout.names == *names,
            Columns::All(count) => layout.names.is_empty() && layout.num_fields == *count,
            Columns::Unknown => false,
        }
    }

    /// Behind a record may be blank lines, which are left out.
    fn unframe(&self, _file: &Arc<FileOrigin>, frame: &[u8], at: Place) -> Result<Span> {
        let first = Records::new(frame, at, true, self.delimiter).next();
        first.map(|(span, _)| span).ok_or_else(|| Error::internal("a CSV record without a byte"))
    }
}

/// The records in the first block of a file, the header with them.
pub fn first_records(file: &Arc<FileOrigin>, codec: Codec, delimiter: u8) -> Result<Option<Text>> {
    let csv = Csv { codec, delimiter, columns: Columns::Unknown };
    let block = csv.open(file, Place::default())?.next(Budget::new(usize::MAX).charge(0))?;
    Ok(block.and_then(|block| match block.columns.first() {
        Some(Column::Text(records)) => Some(records.clone()),
        _ => None,
    }))
}

struct Splitter {
    file: Arc<FileOrigin>,
    csv: Csv,
}

impl Split for Splitter {
    fn split(&mut self, chunk: &[u8], at: Place, is_last: bool) -> Found {
        let mut records = Records::new(chunk, at, is_last, self.csv.delimiter);
        let mut found = Found::default();
        if at.offset_bytes == 0
            && let Some(error) = not_a_text(&self.file, chunk, is_last, true)
        {
            found.fault = Some(error.into());
            return found;
        }
        if at.offset_bytes == 0 && !self.find_columns(&mut records, &mut found) {
            return found;
        }
        let mut numbers = Vec::new();
        found.used = records.at;
        while let Some((span, number)) = records.next() {
            found.used = records.at;
            if span.length > 0 {
                found.spans.push(span);
                numbers.push(number);
            }
        }
        found.numbers = Some(Numbers { of_records: numbers, next: records.number });
        found
    }
}

impl Splitter {
    /// Finds out where the columns are; returns whether records may follow.
    fn find_columns(&self, records: &mut Records, found: &mut Found) -> bool {
        let layout = match &self.csv.columns {
            Columns::Unknown => return true,
            Columns::All(count) => {
                Ok(Layout { names: Arc::new([]), fields: (0..*count).map(|at| (at, at)).collect(), num_fields: *count })
            }
            Columns::Named(names) => match records.find(|(span, _)| span.length > 0) {
                Some((span, number)) => self.layout(&records.chunk[span.start..][..span.length], number, names),
                None => return false,
            },
        };
        match layout {
            Ok(layout) => {
                // A header whose records are not there yet is read again.
                let _ = self.file.layout.set(Arc::new(layout));
                true
            }
            Err(error) => {
                found.fault = Some(error.into());
                false
            }
        }
    }

    /// Where the columns of these names are, as a header says.
    fn layout(&self, header: &[u8], number: u64, names: &Arc<[String]>) -> Result<Layout> {
        let place = || format!("{}: {}", self.file.name.text(), self.file.numbering.of(number));
        let there = header_names(header, self.csv.delimiter)
            .map_err(|misfit| Error::invalid_argument(format!("{}: {misfit}. Correct the header.", place())))?;
        let mut found_fields = Vec::new();
        for (column, name) in names.iter().enumerate() {
            let mut found = there.iter().enumerate().filter(|(_, other)| *other == name).map(|(field, _)| field);
            match (found.next(), found.next()) {
                (Some(field), None) => found_fields.push((field, column)),
                (None, _) => return Err(no_column(&place(), name, &there)),
                (Some(_), Some(_)) => {
                    return Err(Error::invalid_argument(format!(
                        "{}: the header has two columns '{name}', expected one. Rename one of them.",
                        place()
                    )));
                }
            }
        }
        let places = order::by_key(found_fields.len(), |place| found_fields[place]);
        let fields = places.into_iter().map(|place| found_fields[place]).collect();
        Ok(Layout { names: Arc::clone(names), fields, num_fields: there.len() })
    }
}

#[cold]
fn no_column(place: &str, name: &str, there: &[String]) -> Error {
    let there = there.join(", ");
    Error::invalid_argument(format!(
        "{place}: the header has no column '{name}', it has {}. Correct the names; if the files have no header, give \
         header=False and the columns in their order.",
        excerpt(there.as_bytes())
    ))
}

/// The names in a header.
pub fn header_names(header: &[u8], delimiter: u8) -> std::result::Result<Vec<String>, &'static str> {
    let dialect = Dialect::strict(delimiter, true);
    dialect.split(header).map(|field| field.map(|name| String::from_utf8_lossy(&name).into_owned())).collect()
}

/// The records of a chunk, each with the number of its first line.
struct Records<'a> {
    chunk: &'a [u8],
    /// Where the next one begins.
    at: usize,
    /// The number of its first line.
    number: u64,
    /// The first quote that is not before `at`, or the end of the chunk.
    quote: usize,
    is_last: bool,
    delimiter: u8,
}

impl<'a> Records<'a> {
    fn new(chunk: &'a [u8], place: Place, is_last: bool, delimiter: u8) -> Self {
        let has_mark = place.offset_bytes == 0 && chunk.starts_with(BYTE_ORDER_MARK);
        let at = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        let quote = memchr(QUOTE, chunk).unwrap_or(chunk.len());
        Self { chunk, at, number: place.record, quote, is_last, delimiter }
    }

    /// The first quote from `from` on; the end of the chunk if there is none.
    fn quote_from(&mut self, from: usize) -> usize {
        if self.quote < from {
            self.quote = memchr(QUOTE, &self.chunk[from..]).map_or(self.chunk.len(), |place| from + place);
        }
        self.quote
    }

    /// Where the record that begins at `at` ends, a line feed or the end of the file; `None` if that is not there.
    fn end(&mut self) -> Option<usize> {
        let mut from = self.at;
        loop {
            let end = memchr(b'\n', &self.chunk[from..]).map_or(self.chunk.len(), |place| from + place);
            let quote = self.quote_from(from);
            if quote >= end {
                return (end < self.chunk.len() || self.is_last).then_some(end);
            }
            // A quote inside of a field does not begin anything; whoever parses the field refuses it.
            let begins = quote == self.at || self.chunk[quote - 1] == self.delimiter;
            from = if begins { self.behind_quotes(quote + 1)? } else { quote + 1 };
        }
    }

    /// What follows the quote that ends the text from `from` on; `None` if that is not there.
    fn behind_quotes(&mut self, mut from: usize) -> Option<usize> {
        loop {
            let quote = self.quote_from(from);
            match (self.chunk.get(quote), self.chunk.get(quote + 1)) {
                // No quote ends the text. Whoever parses the field says so.
                (None, _) if self.is_last => return Some(self.chunk.len()),
                (None, _) => return None,
                (Some(_), Some(&QUOTE)) => from = quote + 2,
                (Some(_), Some(_)) => return Some(quote + 1),
                (Some(_), None) => return self.is_last.then_some(quote + 1),
            }
        }
    }
}

impl Iterator for Records<'_> {
    type Item = (Span, u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.chunk.len() {
            return None;
        }
        let has_quotes = self.quote < self.chunk.len();
        let (start, end, number) = (self.at, self.end()?, self.number);
        self.at = (end + 1).min(self.chunk.len());
        let inner = if has_quotes { memchr_iter(b'\n', &self.chunk[start..end]).count() as u64 } else { 0 };
        self.number += 1 + inner;
        Some((line(self.chunk, start, end), number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The records, found in chunks that grow by `step` bytes.
    fn split(text: &str, step: usize) -> Vec<(String, u64)> {
        let text = text.as_bytes();
        let (mut start, mut end, mut line) = (0, step.min(text.len()), 0);
        let mut found = Vec::new();
        loop {
            let place = Place { offset_bytes: start as u64, record: line };
            let mut records = Records::new(&text[start..end], place, end == text.len(), b',');
            let mut used = records.at;
            while let Some((span, number)) = records.next() {
                let bytes = &text[start + span.start..][..span.length];
                found.push((String::from_utf8_lossy(bytes).into_owned(), number));
                used = records.at;
            }
            line = records.number;
            if end == text.len() {
                return found;
            }
            start += if found.is_empty() { 0 } else { used };
            end = (end + step).min(text.len());
        }
    }

    fn whole(text: &str) -> Vec<(String, u64)> {
        split(text, usize::MAX)
    }

    #[test]
    fn records_end_with_lines() {
        for (text, records) in [
            ("", &[][..]),
            ("a,b", &[("a,b", 0)]),
            ("a\r\nb\n", &[("a", 0), ("b", 1)]),
            ("\n\r\na\n", &[("", 0), ("", 1), ("a", 2)]),
            ("\"a\nb\",c\nd", &[("\"a\nb\",c", 0), ("d", 2)]),
            ("\"a\"\"\n\",c\nd", &[("\"a\"\"\n\",c", 0), ("d", 2)]),
            ("a,\"\n\"\nd", &[("a,\"\n\"", 0), ("d", 2)]),
            ("5\" pipe\nd", &[("5\" pipe", 0), ("d", 1)]),
            ("\"a\nb", &[("\"a\nb", 0)]),
            ("\u{feff}a\nb", &[("a", 0), ("b", 1)]),
        ] {
            let records: Vec<_> = records.iter().map(|(text, line)| ((*text).to_owned(), *line)).collect();
            assert_eq!(whole(text), records, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn records_are_the_same_in_chunks_of_any_size(text in "[a,\"\n\r]{0,30}", step in 1..9_usize) {
            prop_assert_eq!(split(&text, step), whole(&text));
        }
    }
}
