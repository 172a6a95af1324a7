//! Text files, split at line feeds without assuming an encoding. A carriage return before a line
//! feed is dropped, and so is a UTF-8 byte order mark.

use crate::blocks::block::FileProvenance;
use crate::blocks::column::Span;
use crate::formats::chunks::{CHUNK_BYTES, ChunkRecords, Chunks, Numbers, Split, scan};
use crate::formats::text_start::{begin_of_text, not_a_text};
use crate::records::{
    Codec, FilePart, Format, HeaderScan, Offsets, RandomAccess, RecordPosition, Scan, ScanFault, ScanResult,
};
use headrace_engine::error::Result;
use memchr::{memchr, memchr_iter};
use std::sync::Arc;

/// Text files.
pub struct Lines {
    /// The compression of the files.
    pub codec: Codec,
    /// True if lines that consist only of white space are skipped.
    pub skips_blank: bool,
}

impl Format for Lines {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::open(file, self.codec, Splitter::new(file, self.skips_blank), at)?))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn open_part(&self, file: &Arc<FileProvenance>, part: FilePart) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::of_part(file, Splitter::new(file, self.skips_blank), part)?))
    }

    fn is_of_lines(&self) -> bool {
        true
    }

    fn is_readable(&self, file: &FileProvenance, start: &[u8], is_whole: bool) -> bool {
        not_a_text(file, start, is_whole, self.skips_blank).is_none()
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl RandomAccess for Lines {
    fn codec(&self) -> Codec {
        self.codec
    }

    fn kind(&self) -> Option<String> {
        Some(if self.skips_blank { "lines, blank ones skipped" } else { "lines" }.to_owned())
    }

    fn has_lead(&self) -> bool {
        true
    }

    /// A byte order mark may precede the first line.
    fn first_offsets(&self) -> Option<&'static [u64]> {
        (!self.skips_blank).then_some(&[0, 3])
    }

    /// If blank lines are skipped, only blank lines may follow the first one.
    fn is_record(&self, lead: &[u8], frame: &[u8], is_last: bool) -> bool {
        let rest = memchr(b'\n', frame).map_or(&[][..], |end| &frame[end + 1..]);
        is_of_lines(lead, frame, is_last)
            && (rest.is_empty() || self.skips_blank && rest.iter().all(u8::is_ascii_whitespace))
    }

    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        if self.skips_blank {
            return scan(file, Splitter::new(file, true), input.len());
        }
        let mut offsets = Offsets::new();
        let len = input.len();
        let first = input.at(0, CHUNK_BYTES)?;
        if let Some(error) = not_a_text(file, first, first.len() as u64 == len, false) {
            let faults = vec![ScanFault::end(RecordPosition::default(), error, len)];
            return Ok(ScanResult { faults, ..offsets.into() });
        }
        let mut start = begin_of_text(first) as u64;
        let mut at = start;
        offsets.push(start)?;
        while at < input.len() {
            let bytes = input.at(at, 1)?;
            for end in memchr_iter(b'\n', bytes) {
                start = at + end as u64 + 1;
                offsets.push(start)?;
            }
            at += bytes.len() as u64;
        }
        if start < input.len() {
            offsets.push(input.len())?;
        }
        Ok(offsets.into())
    }

    /// The frame may include blank lines after the line, which are skipped.
    fn unframe(&self, _file: &Arc<FileProvenance>, frame: &[u8], _at: RecordPosition) -> Result<Span> {
        let end = memchr(b'\n', frame).unwrap_or(frame.len());
        Ok(line(frame, 0, end))
    }
}

/// Returns true if a frame with this lead consists of complete lines.
pub fn is_of_lines(lead: &[u8], frame: &[u8], is_last: bool) -> bool {
    let is_begin = lead.is_empty() || lead.ends_with(b"\n") || begin_of_text(lead) == lead.len();
    is_begin && (is_last || frame.last() == Some(&b'\n'))
}

struct Splitter {
    file: Arc<FileProvenance>,
    skips_blank: bool,
}

impl Splitter {
    fn new(file: &Arc<FileProvenance>, skips_blank: bool) -> Self {
        Self { file: Arc::clone(file), skips_blank }
    }
}

impl Split for Splitter {
    fn can_end_anywhere(&self) -> bool {
        true
    }

    fn split(&mut self, chunk: &[u8], at: RecordPosition, is_last: bool) -> ChunkRecords {
        let mut records = ChunkRecords::default();
        let mut start = 0;
        if at.offset_bytes == 0 {
            if let Some(error) = not_a_text(&self.file, chunk, is_last, self.skips_blank) {
                records.fault = Some(error.into());
                return records;
            }
            start = begin_of_text(chunk);
        }
        for end in memchr_iter(b'\n', chunk) {
            records.spans.push(line(chunk, start, end));
            start = end + 1;
        }
        if is_last && start < chunk.len() {
            records.spans.push(line(chunk, start, chunk.len()));
            start = chunk.len();
        }
        records.used = start;
        if self.skips_blank {
            leave_out_blank(chunk, at, &mut records);
        }
        records
    }
}

#[inline]
fn is_blank(chunk: &[u8], span: Span) -> bool {
    chunk[span.start..][..span.length].trim_ascii_start().is_empty()
}

fn leave_out_blank(chunk: &[u8], at: RecordPosition, records: &mut ChunkRecords) {
    if !records.spans.iter().any(|span| is_blank(chunk, *span)) {
        return;
    }
    let next = at.record + records.spans.len() as u64;
    let kept = (at.record..).zip(records.spans.drain(..)).filter(|(_, span)| !is_blank(chunk, *span));
    let (of_records, spans) = kept.unzip();
    records.spans = spans;
    records.numbers = Some(Numbers { of_records, next });
}

/// The line in `start..end`, without a carriage return at its end.
pub(super) fn line(chunk: &[u8], start: usize, end: usize) -> Span {
    let has_return = end > start && chunk[end - 1] == b'\r';
    Span { start, length: end - start - usize::from(has_return) }
}
