//! Skips the byte order mark of a text file and checks that the file is text.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::chunks::CHUNK_BYTES;
use headrace_engine::error::Error;
use headrace_engine::files::content::{Kind, content};
use memchr::memchr;

/// The byte order mark at the beginning of a UTF-8 text, which is skipped.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The offset at which the text begins.
pub fn begin_of_text(start: &[u8]) -> usize {
    if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// The error for a file that begins like a type other than `expected`. An HTML page is an error too
/// if `is_table`.
pub fn other_content(file: &FileProvenance, start: &[u8], is_table: bool, expected: &str) -> Option<Error> {
    let detected = content(start).filter(|detected| detected.kind != Kind::Page || is_table)?;
    let (name, remedy) = (file.name.text(), detected.remedy());
    Some(Error::invalid_argument(format!("{name}: the file is {detected}, expected {expected}. {remedy}")))
}

/// The error for a file that cannot be read as lines of text, judging by its first bytes. An HTML
/// page is an error too if `is_table`. `is_whole` is true if `start` is the whole file.
pub fn not_a_text(file: &FileProvenance, start: &[u8], is_whole: bool, is_table: bool) -> Option<Error> {
    if let Some(error) = other_content(file, start, is_table, "lines of text") {
        return Some(error);
    }
    let name = file.name.text();
    let start = &start[..start.len().min(CHUNK_BYTES)];
    let is_known = is_whole || start.len() == CHUNK_BYTES;
    let has_returns = memchr(b'\r', start).is_some_and(|position| position + 1 < start.len());
    (is_known && has_returns && memchr(b'\n', start).is_none()).then(|| {
        Error::invalid_argument(format!(
            "{name}: the lines end with only \\r, expected \\n or \\r\\n. Convert it, for example with tr '\\r' \
             '\\n'."
        ))
    })
}
