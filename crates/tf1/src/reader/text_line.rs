//! Lines of text files. A key is `PATH:LINE`, where lines are counted from 1 and skipped lines
//! are included.
//!
//! Source: `tf.TextLineReader` in TensorFlow 1.15.

use super::block::BlockFile;
use super::format::{Format, Position, Record, RecordFile};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;
use headrace_engine::tensor::allocate;
use memchr::{memchr, memchr_iter};

/// Text files, which consist of bytes between line feeds, in any encoding.
pub struct TextLineFormat {
    num_header_lines: u64,
}

impl TextLineFormat {
    /// Returns the lines after the first `skip_header_lines` of each file. Fails if that is
    /// negative.
    pub fn new(skip_header_lines: i64) -> Result<Self> {
        let refused = |_| Error::invalid_argument(format!("skip_header_lines must be >= 0 not {skip_header_lines}"));
        Ok(Self { num_header_lines: u64::try_from(skip_header_lines).map_err(refused)? })
    }
}

impl Format for TextLineFormat {
    fn class(&self) -> &'static str {
        "TextLineReader"
    }

    fn numbering(&self) -> Numbering {
        Numbering { word: "line", first: self.num_header_lines.saturating_add(1) }
    }

    fn open(&self, name: &FileName, at: Option<Position>) -> Result<Box<dyn RecordFile>> {
        self.begin(BlockFile::open(name, Compression::None, self.numbering())?, at)
    }
}

impl TextLineFormat {
    /// Seeks to the first line that is a record, or to a saved position.
    pub(super) fn begin(&self, mut block: BlockFile, at: Option<Position>) -> Result<Box<dyn RecordFile>> {
        match at {
            Some(position) => block.seek(position.offset_bytes)?,
            None => skip_lines(&mut block, self.num_header_lines)?,
        }
        Ok(Box::new(TextLineFile { block, num_header_lines: self.num_header_lines }))
    }
}

struct TextLineFile {
    block: BlockFile,
    num_header_lines: u64,
}

impl RecordFile for TextLineFile {
    fn next(&mut self, number: u64) -> Result<Option<Record>> {
        self.block.begin(number);
        let offset_bytes = self.block.offset_bytes();
        let number = self.num_header_lines + number + 1;
        let Some(value) = line(&mut self.block, number)? else { return Ok(None) };
        Ok(Some(Record { number: Some(number), value, offset_bytes, next_bytes: self.block.offset_bytes() }))
    }

    fn next_up_to(&mut self, number: u64, limit: usize, take: &mut dyn FnMut(Record)) -> Result<bool> {
        let last = number.saturating_add(limit as u64);
        let mut number = number;
        while number < last {
            self.block.begin(number);
            let offset_bytes = self.block.offset_bytes();
            let buffered = self.block.fill(1)?;
            let mut start = 0;
            for end in memchr_iter(b'\n', buffered).take((last - number) as usize) {
                take(Record {
                    number: Some(self.num_header_lines + number + 1),
                    value: Bytes::copy_from_slice(without_return(&buffered[start..end])),
                    offset_bytes: offset_bytes + start as u64,
                    next_bytes: offset_bytes + end as u64 + 1,
                });
                number += 1;
                start = end + 1;
            }
            self.block.consume(start);
            // The next line begins in this block and ends in a later one.
            if number < last {
                let Some(record) = self.next(number)? else { return Ok(true) };
                take(record);
                number += 1;
            }
        }
        Ok(false)
    }

    fn may_wait(&self) -> bool {
        self.block.may_wait()
    }
}

/// Returns the next line, which may end in a later block or with the file. Returns `None` if
/// nothing is left, or only a carriage return.
fn line(block: &mut BlockFile, number: u64) -> Result<Option<Bytes>> {
    let buffered = block.fill(1)?;
    if let Some(end) = memchr(b'\n', buffered) {
        let line = Bytes::copy_from_slice(without_return(&buffered[..end]));
        block.consume(end + 1);
        return Ok(Some(line));
    }
    let mut line = Vec::new();
    let has_end = loop {
        let buffered = block.fill(1)?;
        let end = memchr(b'\n', buffered);
        let part = &buffered[..end.unwrap_or(buffered.len())];
        if let Err(refusal) = allocate::grow(&mut line, part.len()) {
            let (name, length) = (block.name().text(), line.len());
            return Err(refusal.at(format_args!("{name}: line {number} does not end within {length} bytes")));
        }
        line.extend_from_slice(part);
        let used = end.map_or(buffered.len(), |end| end + 1);
        block.consume(used);
        if end.is_some() || used == 0 {
            break end.is_some();
        }
    };
    line.truncate(without_return(&line).len());
    line.shrink_to_fit();
    Ok(Some(Bytes::from(line)).filter(|line| has_end || !line.is_empty()))
}

/// Removes the carriage return at the end of a line.
fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Skips `count` lines, or all if the file has fewer.
fn skip_lines(block: &mut BlockFile, count: u64) -> Result<()> {
    let mut rest = count;
    while rest > 0 {
        let buffered = block.fill(1)?;
        let end = memchr(b'\n', buffered);
        let used = end.map_or(buffered.len(), |end| end + 1);
        block.consume(used);
        if used == 0 {
            break;
        }
        rest -= u64::from(end.is_some());
    }
    Ok(())
}
