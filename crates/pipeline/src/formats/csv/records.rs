//! Finds the records of a CSV file and detects invalid ones.
//!
//! A quote that is never closed would turn the rest of the file into a single field. So fields must
//! be closed by a quote before a delimiter, a line end or the end of the file. If a record has an
//! unclosed field, or has several lines but the wrong number of fields, its first line is given up.
//! The next record then begins at the next valid line.

use crate::blocks::column::Span;
use crate::formats::chunks::Extent;
use crate::formats::lines::line;
use crate::records::RecordPosition;
use headrace_engine::kernels::records::decode_csv::split::Dialect;
use memchr::{memchr, memchr_iter};

const QUOTE: u8 = b'"';
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// A field with several lines must close within this many bytes of its record. The search for a
/// valid line has the same limit.
pub const MOST_BYTES: usize = 16 << 20;

/// Iterates over the records of a chunk, with the number of each record's first line.
pub struct Records<'a> {
    pub chunk: &'a [u8],
    /// The position of the next record.
    pub at: usize,
    /// The number of the next record's first line.
    pub number: u64,
    /// The first quote at or after `at`, or the end of the chunk.
    quote: usize,
    is_last: bool,
    delimiter: u8,
    /// The number of fields in a record, if known.
    num_fields: Option<usize>,
    most_bytes: usize,
}

/// The next part of a chunk.
pub enum Step {
    /// A record, and the number of its first line. Blank lines have no bytes.
    Record(Span, u64),
    /// Lines that do not form a record.
    Misfit(Misfit),
}

impl Step {
    /// Returns true for a blank line.
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Record(span, _) if span.length == 0)
    }
}

/// Lines that do not form a record.
#[derive(Debug)]
pub struct Misfit {
    /// The number of the first line.
    pub number: u64,
    /// The number of lost lines, not counting blank ones.
    pub num_lines: u64,
    num_bytes: usize,
    /// The number of lines, including blank ones.
    num_numbers: u64,
    why: Why,
}

/// The reason why a record is invalid. Lines are counted from its first one.
#[derive(Debug)]
enum Why {
    /// A quote in this line opens a field that is never closed.
    Open { line: u64 },
    /// A quote in line `end` closes the field opened in line `line`, but is not followed by a
    /// delimiter or a line end.
    Closed { line: u64, end: u64 },
    /// A record with several lines has the wrong number of fields.
    Count { lines: u64, count: usize, expected: usize },
}

impl Misfit {
    /// The part of the chunk to skip.
    pub fn extent(&self) -> Extent {
        Extent { num_bytes: self.num_bytes, num_records: self.num_numbers }
    }

    /// Describes the fault and the remedy. `name` formats the number of a line.
    pub fn text(&self, name: impl Fn(u64) -> String) -> String {
        let named = |line: u64| name(self.number + line);
        let what = match &self.why {
            Why::Open { line } => format!("a quote in {} opens a field that is never closed", named(*line)),
            Why::Closed { line, end } => format!(
                "a quote in {} opens a field, and the next quote, in {}, is not followed by a delimiter or a line end",
                named(*line),
                named(*end)
            ),
            Why::Count { lines, count, expected } => {
                format!("a record of {lines} lines has {count} fields, expected {expected}")
            }
        };
        let (lines, num_bytes) = (self.num_lines, self.num_bytes);
        let lost = match lines {
            1 => format!("1 line ({num_bytes} bytes) is not a record"),
            lines => format!("{lines} lines ({num_bytes} bytes) up to the next record are not records"),
        };
        format!(
            "{what}; {lost}. Quote fields that contain quotes, delimiters or line breaks, and double any quotes inside them."
        )
    }
}

/// Where a record ends.
enum End {
    /// At this line feed, or at the end of the file.
    At(usize),
    /// It isn't a valid record.
    Wrong(Why),
    /// The chunk ends first.
    More,
}

/// Where a quoted field ends.
enum Closed {
    /// The position after the closing quote.
    At(usize),
    Wrong(Why),
    More,
}

impl<'a> Records<'a> {
    /// Iterates over the records from the beginning of `chunk`, which is at `position`.
    pub fn new(chunk: &'a [u8], position: RecordPosition, is_last: bool, delimiter: u8) -> Self {
        let has_mark = position.offset_bytes == 0 && chunk.starts_with(BYTE_ORDER_MARK);
        let at = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        let quote = memchr(QUOTE, chunk).unwrap_or(chunk.len());
        let (number, num_fields, most_bytes) = (position.record, None, MOST_BYTES);
        Self { chunk, at, number, quote, is_last, delimiter, num_fields, most_bytes }
    }

    /// Sets the number of fields in a record, if known.
    pub fn of_fields(self, num_fields: Option<usize>) -> Self {
        Self { num_fields, ..self }
    }

    /// Returns true if the number of fields in a record is unknown.
    pub fn is_of_any_fields(&self) -> bool {
        self.num_fields.is_none()
    }

    /// Counts the fields of a record. Returns `None` if it cannot be split.
    pub fn count_fields(&self, record: &[u8]) -> Option<usize> {
        let dialect = Dialect::strict(self.delimiter, true);
        dialect.split(record).try_fold(0, |count, field| field.ok().map(|_| count + 1))
    }

    /// Returns the position of the first quote from `from` on, or the end of the chunk.
    fn quote_from(&mut self, from: usize) -> usize {
        if self.quote < from {
            self.quote = memchr(QUOTE, &self.chunk[from..]).map_or(self.chunk.len(), |position| from + position);
        }
        self.quote
    }

    /// Returns the position of the first line feed from `from` on, or the end of the chunk.
    fn line_end(&self, from: usize) -> usize {
        memchr(b'\n', &self.chunk[from..]).map_or(self.chunk.len(), |position| from + position)
    }

    /// Counts the line ends in a part of the chunk.
    fn lines_in(&self, start: usize, end: usize) -> u64 {
        memchr_iter(b'\n', &self.chunk[start..end]).count() as u64
    }

    /// Finds the end of the record that begins at `at`.
    fn end(&mut self) -> End {
        let mut from = self.at;
        loop {
            let end = self.line_end(from);
            let quote = self.quote_from(from);
            if quote >= end {
                return if end < self.chunk.len() || self.is_last { End::At(end) } else { End::More };
            }
            // A quote in the middle of a field opens nothing. Parsing rejects the field.
            let begins = quote == self.at || self.chunk[quote - 1] == self.delimiter;
            from = match begins {
                false => quote + 1,
                true => match self.closed(quote) {
                    Closed::At(next) => next,
                    Closed::Wrong(why) => return End::Wrong(why),
                    Closed::More => return End::More,
                },
            };
        }
    }

    /// Finds the end of the field that begins with the quote at `open`.
    fn closed(&mut self, open: usize) -> Closed {
        let limit = self.at.saturating_add(self.most_bytes);
        let mut from = open + 1;
        loop {
            let quote = self.quote_from(from);
            let is_known = quote < self.chunk.len() || self.chunk.len() >= limit;
            if quote >= limit && is_known && self.lines_in_some(open, limit) {
                return Closed::Wrong(self.open(open));
            }
            let rest = &self.chunk[quote..];
            match rest {
                [] if self.is_last => return Closed::Wrong(self.open(open)),
                [_, QUOTE, ..] => from = quote + 2,
                [_, b'\n', ..] | [_, b'\r', b'\n', ..] => return Closed::At(quote + 1),
                [_, next, ..] if *next == self.delimiter => return Closed::At(quote + 1),
                [_] | [_, b'\r'] if self.is_last => return Closed::At(quote + 1),
                [] | [_] | [_, b'\r'] => return Closed::More,
                [_, ..] => {
                    let (line, end) = (self.lines_in(self.at, open), self.lines_in(self.at, quote));
                    return Closed::Wrong(Why::Closed { line, end });
                }
            }
        }
    }

    /// Returns true if a line ends between two positions. The second may be before the first, or
    /// beyond the chunk.
    fn lines_in_some(&self, start: usize, end: usize) -> bool {
        memchr(b'\n', &self.chunk[start..end.clamp(start, self.chunk.len())]).is_some()
    }

    #[cold]
    fn open(&self, quote: usize) -> Why {
        Why::Open { line: self.lines_in(self.at, quote) }
    }

    /// Returns true if the line at `at` begins a valid record, or `None` if the chunk ends too
    /// early to tell.
    fn fits(&mut self) -> Option<bool> {
        match self.end() {
            End::More => None,
            End::Wrong(_) => Some(false),
            End::At(end) => {
                let Span { start, length } = line(self.chunk, self.at, end);
                let count = self.count_fields(&self.chunk[start..][..length]);
                Some(count.is_some_and(|count| self.num_fields.is_none_or(|expected| count == expected)))
            }
        }
    }

    /// Skips lines up to the next valid one. Returns `None` if the chunk ends too early.
    #[cold]
    fn misfit(&mut self, why: Why) -> Option<Misfit> {
        let (start, number) = (self.at, self.number);
        let mut num_lines = 1;
        let mut quote = 0;
        let mut at = self.line_end(start) + 1;
        while at < self.chunk.len() && at - start <= self.most_bytes {
            let end = self.line_end(at);
            if end == self.chunk.len() && !self.is_last {
                return None;
            }
            if line(self.chunk, at, end).length > 0 {
                // The other lines have been searched up to later quotes.
                (self.at, self.quote) = (at, quote);
                quote = self.quote_from(at);
                if self.fits()? {
                    break;
                }
                num_lines += 1;
            }
            at = end + 1;
        }
        if at >= self.chunk.len() && !self.is_last {
            return None;
        }
        let at = at.min(self.chunk.len());
        let num_numbers = self.lines_in(start, at).max(1);
        (self.at, self.quote, self.number) = (at, quote, number + num_numbers);
        Some(Misfit { number, num_lines, num_bytes: at - start, num_numbers, why })
    }
}

impl Iterator for Records<'_> {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.chunk.len() {
            return None;
        }
        let has_quotes = self.quote < self.chunk.len();
        let (start, number) = (self.at, self.number);
        let end = match self.end() {
            End::At(end) => end,
            End::Wrong(why) => return self.misfit(why).map(Step::Misfit),
            End::More => return None,
        };
        let span = line(self.chunk, start, end);
        let inner = if has_quotes { self.lines_in(start, end) } else { 0 };
        if inner > 0
            && let Some(expected) = self.num_fields
            && let Some(count) = self.count_fields(&self.chunk[span.start..][..span.length])
            && count != expected
        {
            return self.misfit(Why::Count { lines: inner + 1, count, expected }).map(Step::Misfit);
        }
        self.at = (end + 1).min(self.chunk.len());
        self.number += 1 + inner;
        Some(Step::Record(span, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Splits a text in chunks that grow by `step` bytes. Invalid lines are enclosed in `<>`.
    fn split(text: &str, step: usize, (num_fields, most_bytes): (Option<usize>, usize)) -> Vec<(String, u64)> {
        let text = text.as_bytes();
        let (mut start, mut end, mut line) = (0, step.min(text.len()), 0);
        let mut steps = Vec::new();
        loop {
            let position = RecordPosition { offset_bytes: start as u64, record: line };
            let records = Records::new(&text[start..end], position, end == text.len(), b',').of_fields(num_fields);
            let mut records = Records { most_bytes, ..records };
            let (mut used, mut at) = (records.at, records.at);
            while let Some(step) = records.next() {
                used = records.at;
                line = records.number;
                steps.push(match step {
                    Step::Record(span, number) => {
                        let bytes = &text[start + span.start..][..span.length];
                        (String::from_utf8_lossy(bytes).into_owned(), number)
                    }
                    Step::Misfit(misfit) => {
                        assert_eq!(misfit.extent().num_bytes, used - at);
                        let bytes = String::from_utf8_lossy(&text[start + at..start + used]).into_owned();
                        (format!("<{}: {bytes}>", misfit.num_lines), misfit.number)
                    }
                });
                at = used;
            }
            if end == text.len() {
                return steps;
            }
            start += if steps.is_empty() { 0 } else { used };
            end = (end + step).min(text.len());
        }
    }

    fn whole(text: &str, num_fields: Option<usize>) -> Vec<(String, u64)> {
        split(text, usize::MAX, (num_fields, MOST_BYTES))
    }

    fn owned(records: &[(&str, u64)]) -> Vec<(String, u64)> {
        records.iter().map(|(text, line)| ((*text).to_owned(), *line)).collect()
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
            ("a,\"\n\"\r\nd", &[("a,\"\n\"", 0), ("d", 2)]),
            ("5\" pipe\nd", &[("5\" pipe", 0), ("d", 1)]),
            ("\u{feff}a\nb", &[("a", 0), ("b", 1)]),
        ] {
            assert_eq!(whole(text, None), owned(records), "{text:?}");
        }
    }

    #[test]
    fn records_continue_at_the_next_valid_line_after_a_stray_quote() {
        for (text, records) in [
            // It is never closed, or closed by a quote that begins another field.
            ("1,\"a\n2,b\n3,c\n", &[("<1: 1,\"a\n>", 0), ("2,b", 1), ("3,c", 2)][..]),
            ("1,\"a\n2,b\n3,\"c\"\n4,d", &[("<1: 1,\"a\n>", 0), ("2,b", 1), ("3,\"c\"", 2), ("4,d", 3)]),
            // A text with several lines and a wrong quote.
            ("1,\"a\nb \"c\" d\n\ne\"\n2,f", &[("<3: 1,\"a\nb \"c\" d\n\ne\"\n>", 0), ("2,f", 4)]),
            // It closes, but the number of fields is wrong.
            ("1,\"a\n2,b\n3,\",d\n4,e", &[("<1: 1,\"a\n>", 0), ("2,b", 1), ("<1: 3,\",d\n>", 2), ("4,e", 3)]),
            // The next record itself has several lines.
            ("1,\"a\n2,\"x\ny\"\n3,c", &[("<1: 1,\"a\n>", 0), ("2,\"x\ny\"", 1), ("3,c", 3)]),
            ("1,\"a\"b\n2,c", &[("<1: 1,\"a\"b\n>", 0), ("2,c", 1)]),
            ("1,\"a\n\n", &[("<1: 1,\"a\n\n>", 0)]),
            ("1,\"a", &[("<1: 1,\"a>", 0)]),
            // This is a normal record.
            ("1,\"a\n2,b\n3,\"\n4,d", &[("1,\"a\n2,b\n3,\"", 0), ("4,d", 3)]),
        ] {
            assert_eq!(whole(text, Some(2)), owned(records), "{text:?}");
        }
    }

    #[test]
    fn multiline_field_is_limited() {
        let text = "1,\"aaaa\nbbbb\"\n2,c\n";
        assert_eq!(split(text, 99, (Some(2), 13)), owned(&[("1,\"aaaa\nbbbb\"", 0), ("2,c", 2)]));
        let records = owned(&[("<2: 1,\"aaaa\nbbbb\"\n>", 0), ("2,c", 2)]);
        assert_eq!(split(text, 99, (Some(2), 12)), records);
        // A single line may have any length, and so may the fields before.
        assert_eq!(split("aaaaaaaaa,\"b\nc\"\n", 99, (Some(2), 5)), owned(&[("aaaaaaaaa,\"b\nc\"", 0)]));
        assert_eq!(split("1,\"aaaaaaaaaaaaaaaaa\"\n", 99, (Some(2), 5)).len(), 1);
    }

    #[test]
    fn errors_name_the_problem_and_the_lines() {
        let text = |text: &str| {
            let records = Records::new(text.as_bytes(), RecordPosition::default(), true, b',').of_fields(Some(2));
            let mut misfits = records.filter_map(|step| match step {
                Step::Misfit(misfit) => Some(misfit.text(|number| format!("line {}", number + 1))),
                Step::Record(..) => None,
            });
            misfits.next().unwrap()
        };
        let remedy = "Quote fields that contain quotes, delimiters or line breaks, and double any quotes inside them.";
        assert_eq!(
            text("1,\"a\n2,b"),
            format!("a quote in line 1 opens a field that is never closed; 1 line (5 bytes) is not a record. {remedy}")
        );
        assert_eq!(
            text("1,2\n\"a\nb\",\"c\nd\"e\n"),
            format!(
                "a quote in line 3 opens a field, and the next quote, in line 4, is not followed by a delimiter or a \
                 line end; 3 lines (13 bytes) up to the next record are not records. {remedy}"
            )
        );
        assert_eq!(
            text("\"a\nb\",c,d\n1,2"),
            format!(
                "a record of 2 lines has 3 fields, expected 2; 2 lines (10 bytes) up to the next record are not \
                 records. {remedy}"
            )
        );
    }

    proptest! {
        #[test]
        fn records_are_the_same_in_chunks_of_any_size(
            text in "[a,\"\n\r]{0,30}", step in 1..9_usize, fields in prop::option::of(1..4_usize), most in 0..40_usize
        ) {
            prop_assert_eq!(split(&text, step, (fields, most)), split(&text, usize::MAX, (fields, most)));
        }

        #[test]
        fn no_line_is_lost_without_a_report(text in "[a,\"\n]{0,30}", fields in prop::option::of(1..4_usize)) {
            let pieces = whole(&text, fields);
            let is_misfit = |text: &str| text.starts_with('<');
            let lines: usize = pieces.iter().map(|(text, _)| {
                let lines = text.lines().count().max(1);
                if is_misfit(text) { text.trim_end_matches(">").split_inclusive('\n').count() } else { lines }
            }).sum();
            prop_assert_eq!(lines, text.split_inclusive('\n').count());
        }
    }
}
