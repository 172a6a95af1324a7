//! Splits a record of comma-separated values into fields.

use crate::error::{Error, Result};
use crate::text::number::FromText;
use std::borrow::Cow;

const QUOTE: u8 = b'"';

/// Why a record cannot be split. The caller adds the record's number.
pub type Misfit = &'static str;

/// The rules for splitting records.
#[derive(Clone)]
pub struct Dialect {
    delimiter: u8,
    /// True if the delimiter cannot be part of a number.
    ends_numbers: bool,
    has_quotes: bool,
    /// True if line ends before a field are skipped.
    skips_line_ends: bool,
    /// For each byte, whether it may occur inside an unquoted field.
    is_plain: [bool; 256],
}

impl Dialect {
    /// Fails if the delimiter is not a single byte.
    pub fn new(delimiter: &str, has_quotes: bool) -> Result<Self> {
        let &[delimiter] = delimiter.as_bytes() else {
            return Err(Error::invalid_argument(format!("field_delim should be only 1 char, got '{delimiter}'")));
        };
        Ok(Self { skips_line_ends: true, ..Self::strict(delimiter, has_quotes) })
    }

    /// Creates rules under which nothing is skipped between fields.
    pub fn strict(delimiter: u8, has_quotes: bool) -> Self {
        let mut is_plain = [true; 256];
        for byte in [delimiter, b'\n', b'\r'] {
            is_plain[usize::from(byte)] = false;
        }
        is_plain[usize::from(QUOTE)] &= !has_quotes;
        let ends_numbers = !delimiter.is_ascii_alphanumeric() && !b"+-._()".contains(&delimiter);
        Self { delimiter, ends_numbers, has_quotes, skips_line_ends: false, is_plain }
    }

    /// Iterates over the fields of `record`. There are no more after an error.
    pub fn split<'a>(&'a self, record: &'a [u8]) -> Fields<'a> {
        Fields { dialect: self, record, at: 0, ends_open: record.last() == Some(&self.delimiter) }
    }
}

/// Iterates over the fields of a record, without their quotes.
#[derive(Clone)]
pub struct Fields<'a> {
    dialect: &'a Dialect,
    record: &'a [u8],
    /// The start of the next field. It is past the end after the last one.
    at: usize,
    /// True if an empty field remains because the record ends with a delimiter.
    ends_open: bool,
}

impl<'a> Iterator for Fields<'a> {
    type Item = std::result::Result<Cow<'a, [u8]>, Misfit>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.dialect.skips_line_ends
            && let Some(b'\n' | b'\r') = self.record.get(self.at)
        {
            self.at += 1;
        }
        match self.record.get(self.at) {
            Some(&QUOTE) if self.dialect.has_quotes => Some(self.quoted().map_err(|misfit| self.end(misfit))),
            Some(_) => Some(self.unquoted().map(Cow::Borrowed).map_err(|misfit| self.end(misfit))),
            None if std::mem::take(&mut self.ends_open) => Some(Ok(Cow::Borrowed(&[]))),
            None => None,
        }
    }
}

impl<'a> Fields<'a> {
    /// Parses the next field if it is not `na_value` and is an unquoted number in the usual form,
    /// as most are.
    #[inline]
    pub fn number<T: FromText>(&mut self, na_value: &[u8]) -> Option<T> {
        let rest = self.record.get(self.at..).filter(|_| self.dialect.ends_numbers)?;
        let (value, length) = T::from_start(rest)?;
        let is_whole = rest.get(length).is_none_or(|next| *next == self.dialect.delimiter);
        let is_number = is_whole && rest[..length] != *na_value;
        self.at += if is_number { length + 1 } else { 0 };
        is_number.then_some(value)
    }

    /// Like [`Fields::number`], but also returns the text and has no `na_value`.
    #[inline]
    pub fn number_and_text<T: FromText>(&mut self) -> Option<(T, &'a [u8])> {
        let rest = self.record.get(self.at..).filter(|_| self.dialect.ends_numbers)?;
        let (value, length) = T::from_start(rest)?;
        let is_whole = rest.get(length).is_none_or(|next| *next == self.dialect.delimiter);
        self.at += if is_whole { length + 1 } else { 0 };
        is_whole.then(|| (value, &rest[..length]))
    }

    /// Returns true if the next field is quoted.
    #[inline]
    pub fn is_quoted(&self) -> bool {
        self.dialect.has_quotes && self.record.get(self.at) == Some(&QUOTE)
    }

    /// Returns true once all fields have been consumed.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.at >= self.record.len() && !self.ends_open
    }

    fn end(&mut self, misfit: Misfit) -> Misfit {
        self.at = self.record.len();
        self.ends_open = false;
        misfit
    }

    #[inline]
    fn unquoted(&mut self) -> std::result::Result<&'a [u8], Misfit> {
        let rest = &self.record[self.at..];
        let end = rest.iter().position(|byte| !self.dialect.is_plain[usize::from(*byte)]).unwrap_or(rest.len());
        if rest.get(end).is_some_and(|byte| *byte != self.dialect.delimiter) {
            return Err("Unquoted fields cannot have quotes/CRLFs inside");
        }
        self.at += end + 1;
        Ok(&rest[..end])
    }

    fn quoted(&mut self) -> std::result::Result<Cow<'a, [u8]>, Misfit> {
        let record = self.record;
        let delimiter = self.dialect.delimiter;
        let mut unescaped = Vec::new();
        // The rest of the field after the last escaped quote.
        let (mut start, mut end) = (self.at + 1, self.at + 1);
        loop {
            end += match record[end.min(record.len())..].iter().position(|byte| *byte == QUOTE) {
                Some(length) => length,
                None => return Err("Quoted field has to end with quote followed by delim or end"),
            };
            match record.get(end + 1) {
                Some(next) if *next != delimiter && *next == QUOTE => {
                    unescaped.extend_from_slice(&record[start..=end]);
                    end += 2;
                    start = end;
                }
                Some(next) if *next != delimiter => {
                    return Err("Quote inside a string has to be escaped by another quote");
                }
                _ => break,
            }
        }
        self.at = end + 2;
        let last = &record[start..end];
        if unescaped.is_empty() {
            return Ok(Cow::Borrowed(last));
        }
        unescaped.extend_from_slice(last);
        Ok(Cow::Owned(unescaped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(delimiter: &str, has_quotes: bool, record: &str) -> std::result::Result<Vec<String>, Misfit> {
        let dialect = Dialect::new(delimiter, has_quotes).unwrap();
        let fields = dialect.split(record.as_bytes());
        fields.map(|field| field.map(|text| String::from_utf8_lossy(&text).into())).collect()
    }

    #[test]
    fn fields_end_at_delimiters() {
        for (record, fields) in [
            ("", &[][..]),
            ("\r\n\n", &[]),
            ("a", &["a"]),
            ("a,b", &["a", "b"]),
            (",", &["", ""]),
            ("a,\n", &["a"]),
            ("\n,", &["", ""]),
            ("a,\r\nb", &["a", "b"]),
            (" a , b ", &[" a ", " b "]),
            ("\"a\",\"\",", &["a", "", ""]),
            ("\"a,\n\"\"b\"\"\",c", &["a,\n\"b\"", "c"]),
            ("\"\"\"\"", &["\""]),
        ] {
            assert_eq!(split(",", true, record).unwrap(), fields, "{record:?}");
        }
        assert_eq!(split("\t", false, "\"a\tb,\"\"").unwrap(), ["\"a", "b,\"\""]);
    }

    #[test]
    fn misplaced_quotes_and_line_ends_are_rejected() {
        let unquoted = "Unquoted fields cannot have quotes/CRLFs inside";
        let inner = "Quote inside a string has to be escaped by another quote";
        let end = "Quoted field has to end with quote followed by delim or end";
        for (record, text) in [
            ("a\n", unquoted),
            ("a\rb", unquoted),
            ("a\"b", unquoted),
            (" \"a\"", unquoted),
            ("\"a\"b", inner),
            ("\"a\"\n", inner),
            ("\"", end),
            ("\"a", end),
            ("\"a\"\"", end),
            ("\"a,", end),
        ] {
            assert_eq!(split(",", true, record).unwrap_err(), text, "{record:?}");
        }
        assert_eq!(split(",", false, "a\n").unwrap_err(), unquoted);
    }

    #[test]
    fn delimiter_is_one_byte() {
        for delimiter in ["", ",,", "\u{e9}"] {
            let text = Dialect::new(delimiter, true).err().unwrap().message().to_owned();
            assert_eq!(text, format!("field_delim should be only 1 char, got '{delimiter}'"));
        }
    }

    proptest! {
        #[test]
        fn quoted_fields_round_trip(fields in prop::collection::vec("[a,\"\n]{0,4}", 1..5)) {
            let quoted: Vec<_> = fields.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
            prop_assert_eq!(split(",", true, &quoted.join(",")).unwrap(), fields);
        }

        #[test]
        fn splitting_any_record_never_panics(delimiter in "[,\"\n]", has_quotes: bool, record in "[a,\"\n]{0,8}") {
            let _ = split(&delimiter, has_quotes, &record);
        }
    }
}
