//! Skips the byte order mark of a text file and checks that it is text.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::chunks::CHUNK_BYTES;
use headrace_engine::error::Error;
use headrace_engine::files::content::{Kind, content};
use memchr::memchr;

/// Skipped at the beginning of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The offset at which the text begins.
pub fn begin_of_text(start: &[u8]) -> usize {
    if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// The error for a file with this beginning that is of another type than `expected`; `is_table` if an HTML page is an
/// error too.
pub fn other_content(file: &FileProvenance, start: &[u8], is_table: bool, expected: &str) -> Option<Error> {
    let detected = content(start).filter(|detected| detected.kind != Kind::Page || is_table)?;
    let (name, remedy) = (file.name.text(), detected.remedy());
    Some(Error::invalid_argument(format!("{name}: it is {detected}, expected {expected}. {remedy}")))
}

/// The error for a file with this beginning that cannot be read as lines of text; `is_table` if an
/// HTML page is an error too. `is_whole` if these are all its bytes.
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
            "{name}: its lines end with only \\r, expected \\n or \\r\\n. Convert it, for example with tr '\\r' \
             '\\n'."
        ))
    })
}
