//! Files that contain one JSON array, whose elements are the records.
//!
//! This module only locates the elements, by their brackets and strings.
//! [`JsonFields`](crate::stages::json::JsonFields) parses them in parallel. So a file is never in
//! memory as a whole. Every position except the beginning points to an element or to the closing
//! bracket.
//!
//! Source: RFC 8259. White space and a byte order mark may precede the array.

use crate::blocks::block::FileProvenance;
use crate::blocks::column::Span;
use crate::formats::chunks::{CHUNK_BYTES, ChunkRecords, Chunks, Split, scan};
use crate::formats::text_start::{begin_of_text, other_content};
use crate::records::{Codec, FilePart, Format, HeaderScan, RandomAccess, RecordPosition, Scan, ScanResult};
use headrace_engine::error::{Error, Result};
use headrace_engine::text::excerpt::excerpt;
use memchr::memchr2;
use std::sync::Arc;

/// The maximum nesting depth of brackets in an element. Parsing has the same limit.
const MOST_BRACKETS: u32 = u128::BITS;
/// The number of bytes to quote in an error.
const SHOWN_BYTES: usize = 20;

/// Files with one JSON array each.
pub struct JsonArray {
    /// The compression of the files.
    pub codec: Codec,
}

impl Format for JsonArray {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::open(file, self.codec, Splitter(Arc::clone(file)), at)?))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn open_part(&self, file: &Arc<FileProvenance>, part: FilePart) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::of_part(file, Splitter(Arc::clone(file)), part)?))
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl RandomAccess for JsonArray {
    fn codec(&self) -> Codec {
        self.codec
    }

    fn kind(&self) -> Option<String> {
        Some("json array".to_owned())
    }

    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        scan(file, Splitter(Arc::clone(file)), input.len())
    }

    fn has_lead(&self) -> bool {
        true
    }

    /// The last element may be followed by the end of the array.
    fn is_record(&self, lead: &[u8], frame: &[u8], is_last: bool) -> bool {
        let is_begin = matches!(lead, [b'[' | b','] | [b' ' | b'\t' | b'\n' | b'\r']);
        let end = element(frame, 0, true).unwrap_or_default().map(|end| skip_space(frame, end));
        let rest = end.and_then(|end| frame.get(end..)).and_then(<[u8]>::split_first);
        let separator = if is_last { b']' } else { b',' };
        is_begin && rest.is_some_and(|(byte, rest)| *byte == separator && skip_space(rest, 0) == rest.len())
    }

    fn unframe(&self, _file: &Arc<FileProvenance>, frame: &[u8], _at: RecordPosition) -> Result<Span> {
        match element(frame, 0, true) {
            Ok(Some(length)) => Ok(Span { start: 0, length }),
            _ => Err(Error::internal("an element of a JSON array from an earlier scan is missing")),
        }
    }
}

struct Splitter(Arc<FileProvenance>);

impl Split for Splitter {
    fn split(&mut self, chunk: &[u8], at: RecordPosition, is_last: bool) -> ChunkRecords {
        let mut records = ChunkRecords::default();
        if at.offset_bytes == 0
            && let Some(error) = other_content(&self.0, chunk, true, "a JSON array")
        {
            records.fault = Some(error.into());
            return records;
        }
        if let Err(wrong) = split(chunk, at.offset_bytes == 0, is_last, &mut records) {
            records.fault = Some(self.error(&wrong, at, records.spans.len()).into());
        }
        records
    }
}

impl Splitter {
    #[cold]
    fn error(&self, wrong: &Wrong, at: RecordPosition, num_records: usize) -> Error {
        let name = self.0.name.text();
        let record = self.0.record_name(at.record + num_records as u64);
        let Wrong { at: position, what, is_cut } = wrong;
        let position = at.offset_bytes + *position as u64;
        match is_cut {
            true => Error::data_loss(format!(
                "{name}: the file ends at byte {position}, within its JSON array ({record}): {what}. The file is cut \
                 short; copy it again."
            )),
            false => Error::invalid_argument(format!("{name}: {record}, at byte {position} of the data: {what}.")),
        }
    }
}

/// The reason why an array is invalid.
#[derive(Debug)]
struct Wrong {
    /// Its position in the chunk.
    at: usize,
    what: String,
    /// True if the file ends there.
    is_cut: bool,
}

impl Wrong {
    #[cold]
    fn cut(chunk: &[u8], expected: &str) -> Self {
        Self { at: chunk.len(), what: format!("expected {expected}"), is_cut: true }
    }

    #[cold]
    fn other(chunk: &[u8], at: usize, expected: &str) -> Self {
        let there = &chunk[at..chunk.len().min(at + SHOWN_BYTES)];
        let what = format!("'{}', expected {expected}", excerpt(there));
        Self { at, what, is_cut: false }
    }
}

/// Locates the elements of the array in `chunk`. The text after an element belongs to it: unless a
/// comma and a value follow, or the end of the array, it is not a record. So reading from any
/// position detects the same fault.
fn split(chunk: &[u8], is_first: bool, is_last: bool, records: &mut ChunkRecords) -> std::result::Result<(), Wrong> {
    let mut start = 0;
    if is_first {
        match begin(chunk, is_last)? {
            Some(begin) => start = begin,
            None => return Ok(()),
        }
    }
    while start < chunk.len() && chunk[start] != b']' {
        let Some(end) = element(chunk, start, is_last)? else { return Ok(()) };
        let separator = skip_space(chunk, end);
        let next = match chunk.get(separator) {
            Some(b']') => separator,
            Some(b',') => skip_space(chunk, separator + 1),
            Some(_) => return Err(Wrong::other(chunk, separator, "',' or ']' after the value")),
            None => chunk.len(),
        };
        match chunk.get(next) {
            Some(b']') if next > separator => return Err(Wrong::other(chunk, next, "a value after the comma")),
            Some(_) => {}
            None if is_last => return Err(Wrong::cut(chunk, "',' and a value, or ']'")),
            None => return Ok(()),
        }
        records.spans.push(Span { start, length: end - start });
        (records.used, start) = (next, next);
    }
    if start == chunk.len() {
        return if is_last { Err(Wrong::cut(chunk, "a value or ']'")) } else { Ok(()) };
    }
    let rest = skip_space(chunk, start + 1);
    match rest == chunk.len() {
        true => Ok(()),
        false => Err(Wrong::other(chunk, rest, "nothing after the array")),
    }
}

/// Returns the position of the first element, or of the closing bracket of an empty array. Returns
/// `None` if the chunk ends first.
fn begin(chunk: &[u8], is_last: bool) -> std::result::Result<Option<usize>, Wrong> {
    let start = skip_space(chunk, begin_of_text(chunk));
    let first = match chunk.get(start) {
        Some(b'[') => skip_space(chunk, start + 1),
        Some(_) => {
            let expected = "'[' of a JSON array. Read JSON Lines files with headrace.json_lines";
            return Err(Wrong::other(chunk, start, expected));
        }
        None if is_last => return Err(Wrong::cut(chunk, "'[' of a JSON array")),
        None => return Ok(None),
    };
    match first == chunk.len() {
        true if is_last => Err(Wrong::cut(chunk, "a value or ']'")),
        true => Ok(None),
        false => Ok(Some(first)),
    }
}

/// Returns the end of the value that begins at `start`, or `None` if the chunk ends first.
fn element(chunk: &[u8], start: usize, is_last: bool) -> std::result::Result<Option<usize>, Wrong> {
    let mut at = start;
    // The open brackets, with the innermost in the lowest bit: 1 for `{`, 0 for `[`.
    let (mut brackets, mut depth) = (0_u128, 0);
    while let Some(byte) = chunk.get(at) {
        match byte {
            b'"' => match string(chunk, at) {
                Some(end) => at = end,
                None => break,
            },
            b'{' | b'[' if depth == MOST_BRACKETS => {
                return Err(Wrong::other(chunk, at, "at most 128 nested brackets"));
            }
            b'{' | b'[' => {
                brackets = brackets << 1 | u128::from(*byte == b'{');
                (depth, at) = (depth + 1, at + 1);
            }
            b'}' | b']' if depth == 0 || (brackets & 1 == 1) != (*byte == b'}') => {
                let expected = match depth {
                    0 => "a value",
                    _ if brackets & 1 == 1 => "'}' first",
                    _ => "']' first",
                };
                return Err(Wrong::other(chunk, at, expected));
            }
            b'}' | b']' => {
                brackets >>= 1;
                (depth, at) = (depth - 1, at + 1);
            }
            _ if depth == 0 => {
                let length = chunk[at..].iter().position(|byte| !is_of_word(*byte)).unwrap_or(chunk.len() - at);
                if length == 0 {
                    return Err(Wrong::other(chunk, at, "a value"));
                }
                at += length;
                if at == chunk.len() && !is_last {
                    return Ok(None);
                }
            }
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return Ok(Some(at));
        }
    }
    match is_last {
        true => Err(Wrong::cut(chunk, "the end of a value")),
        false => Ok(None),
    }
}

/// Returns the end of the string that begins at `start`, or `None` if the chunk ends first.
fn string(chunk: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr2(b'"', b'\\', chunk.get(at..)?)?;
        if chunk[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns the position of the first byte from `start` on that is not white space, or the end of
/// the chunk.
fn skip_space(chunk: &[u8], start: usize) -> usize {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    chunk[start..].iter().position(|byte| !is_space(byte)).map_or(chunk.len(), |position| start + position)
}

/// Returns true for the bytes of numbers and of words such as `true` and `null`.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// Splits a text into its elements, in chunks that grow by `step` bytes, and returns the fault
    /// if there is one.
    fn elements(text: &[u8], step: usize) -> (Vec<(usize, &[u8])>, Option<String>) {
        let (mut start, mut end) = (0, step.min(text.len()));
        let mut elements = Vec::new();
        loop {
            let (mut records, is_last) = (ChunkRecords::default(), end == text.len());
            let wrong = split(&text[start..end], start == 0, is_last, &mut records).err();
            elements.extend(
                records.spans.iter().map(|span| (start + span.start, &text[start..][span.start..][..span.length])),
            );
            start += records.used;
            if let Some(Wrong { at, what, is_cut }) = wrong {
                return (elements, Some(format!("{} {} {what}", start - records.used + at, is_cut)));
            }
            if is_last && records.spans.is_empty() {
                return (elements, None);
            }
            end = end.saturating_add(step).min(text.len());
        }
    }

    fn texts(text: &str) -> (Vec<String>, Option<String>) {
        let (elements, wrong) = elements(text.as_bytes(), usize::MAX);
        (elements.iter().map(|(_, element)| String::from_utf8_lossy(element).into_owned()).collect(), wrong)
    }

    #[test]
    fn elements_end_with_their_brackets() {
        for (text, expected) in [
            ("[]", &[][..]),
            ("\u{feff} [ ] \n", &[]),
            ("[{}]", &["{}"]),
            ("\r\n[ {\"a\": 1} ,\t{\"a\": [2, {}]}\n]\n", &["{\"a\": 1}", "{\"a\": [2, {}]}"]),
            (r#"[{"]}\"": "\\"},{"\\\"": "[{"}]"#, &[r#"{"]}\"": "\\"}"#, r#"{"\\\"": "[{"}"#]),
            ("[1, -2.5e+3,null, \"a, b\",[]]", &["1", "-2.5e+3", "null", "\"a, b\"", "[]"]),
        ] {
            let expected: Vec<_> = expected.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(texts(text), (expected, None), "{text}");
        }
    }

    #[test]
    fn errors_name_the_position() {
        let deep = format!("[{}{}]", "[".repeat(129), "]".repeat(129));
        for (text, num_elements, expected) in [
            ("", 0, "0 true expected '[' of a JSON array"),
            ("{\"a\": 1}", 0, "0 false '{\"a\": 1}', expected '[' of a JSON array. Read JSON"),
            ("[", 0, "1 true expected a value or ']'"),
            ("[{}", 0, "3 true expected ',' and a value, or ']'"),
            ("[{},", 0, "4 true expected ',' and a value, or ']'"),
            ("[{}, {\"a", 1, "8 true expected the end of a value"),
            ("[{}, ]", 0, "5 false ']', expected a value after the comma"),
            ("[{} {}]", 0, "4 false '{}]', expected ',' or ']' after the value"),
            ("[{}]]", 1, "4 false ']', expected nothing after the array"),
            ("[{}, {\"a\": [1}, {}]", 1, "13 false '}, {}]', expected ']' first"),
            ("[,]", 0, "1 false ',]', expected a value"),
            ("[}", 0, "1 false '}', expected a value"),
            (&deep, 0, "129 false"),
        ] {
            let (elements, wrong) = texts(text);
            let wrong = wrong.unwrap();
            assert!(elements.len() == num_elements && wrong.starts_with(expected), "{text}: {elements:?} {wrong}");
        }
    }

    proptest! {
        #[test]
        fn elements_match_serde(text in r#"[\[\]{}"\\,: 1a\n]{0,30}"#, step in 1..9_usize) {
            let text = format!("[{text}");
            let (elements, wrong) = elements(text.as_bytes(), usize::MAX);
            let values: Vec<_> = elements.iter().map(|(_, text)| serde_json::from_slice::<Value>(text)).collect();
            let are_valid = wrong.is_none() && values.iter().all(std::result::Result::is_ok);
            match serde_json::from_str::<Vec<Value>>(&text) {
                Ok(expected) => prop_assert_eq!(values.into_iter().map(|value| value.unwrap()).collect::<Vec<_>>(), expected),
                Err(_) => prop_assert!(!are_valid),
            }
            let (in_chunks, fault) = super::tests::elements(text.as_bytes(), step);
            prop_assert_eq!((in_chunks, fault.is_some()), (elements, wrong.is_some()));
        }

        #[test]
        fn error_is_detected_from_any_starting_element(text in r#"[\[\]{}",1 ]{0,20}"#) {
            let text = format!("[{{}},{{}},{text}");
            let (all, wrong) = elements(text.as_bytes(), usize::MAX);
            for (number, (start, _)) in all.iter().enumerate() {
                let mut records = ChunkRecords::default();
                let fault = split(&text.as_bytes()[*start..], false, true, &mut records).err();
                prop_assert_eq!(records.spans.len(), all.len() - number);
                prop_assert_eq!(fault.is_some(), wrong.is_some());
            }
        }
    }
}
