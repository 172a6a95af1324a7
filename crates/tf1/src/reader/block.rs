//! Reads a file in large blocks, from which the formats extract records.
//!
//! Records are copied out of their block, so that a record waiting in a queue only keeps its own
//! memory alive.

use bytes::Bytes;
use headrace_engine::error::{Error, Result, Wait};
use headrace_engine::files::compression::{Compression, Inflate};
use headrace_engine::files::input::{Input, error_of_wait};
use headrace_engine::files::name::FileName;
use headrace_engine::files::output::retried;
use headrace_engine::numbering::Numbering;
use headrace_engine::tensor::allocate::{self, Refusal, Unread};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// The size of a block. A larger record is read on its own.
const BLOCK_BYTES: usize = 256 * 1024;
/// The block of a small file is as large as the file, but at least this large.
const SMALL_BLOCK_BYTES: u64 = 512;

/// A file, which may be compressed, and the block that was last read from it.
pub struct BlockFile {
    name: FileName,
    source: Source,
    /// `block[start..end]` has been read but not consumed yet.
    block: Vec<u8>,
    start: usize,
    end: usize,
    /// The size of a block, if it is limited.
    block_bytes: usize,
    /// The offset of `start` in the uncompressed file.
    offset_bytes: u64,
    /// The number of the record being read and how records are counted, for error messages.
    record: u64,
    numbering: Numbering,
    /// The offset of that record.
    record_bytes: u64,
    may_wait: bool,
}

enum Source {
    /// A file of known size that can be read at any offset.
    Regular(Input),
    /// A pipe or a device.
    Stream(Stream),
    Compressed(Box<Inflate<Stream>>),
}

/// An input that is read from start to end.
pub type Stream = Box<dyn Read + Send>;

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Regular(file) => file.read(buffer),
            Self::Stream(stream) => stream.read(buffer),
            Self::Compressed(stream) => stream.read(buffer),
        }
    }
}

impl BlockFile {
    pub fn open(name: &FileName, compression: Compression, numbering: Numbering) -> Result<Self> {
        let (file, status) = name.open()?;
        let may_wait = file.may_wait();
        let opened = match compression {
            Compression::None if status.is_regular => Self::new(name, Source::Regular(file), status.len, numbering),
            _ => Self::of_stream(name, Box::new(file), compression, numbering),
        };
        Ok(Self { may_wait, ..opened })
    }

    /// Wraps a stream, which has no known size and cannot seek.
    pub fn of_stream(name: &FileName, stream: Stream, compression: Compression, numbering: Numbering) -> Self {
        let source = match compression {
            Compression::None => Source::Stream(stream),
            _ => Source::Compressed(Box::new(Inflate::new(stream, compression))),
        };
        Self::new(name, source, u64::MAX, numbering)
    }

    fn new(name: &FileName, source: Source, length: u64, numbering: Numbering) -> Self {
        let block_bytes = length.clamp(SMALL_BLOCK_BYTES, BLOCK_BYTES as u64) as usize;
        let (name, block) = (name.clone(), Vec::new());
        let (start, end, offset_bytes, record, record_bytes, may_wait) = (0, 0, 0, 0, 0, false);
        Self { name, source, block, start, end, block_bytes, offset_bytes, record, record_bytes, numbering, may_wait }
    }

    pub fn name(&self) -> &FileName {
        &self.name
    }

    /// The offset of the next byte in the uncompressed file.
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// The current size of the file, if it can be determined.
    pub fn length_bytes(&self) -> Result<Option<u64>> {
        match &self.source {
            Source::Regular(file) => file.length_bytes().map(Some).map_err(|e| self.failed(&e)),
            _ => Ok(None),
        }
    }

    /// Records which record is read next, for error messages.
    pub fn begin(&mut self, record: u64) {
        self.record = record;
        self.record_bytes = self.offset_bytes;
    }

    /// Returns true if reading may have to wait.
    pub fn may_wait(&self) -> bool {
        self.may_wait
    }

    /// Returns the next bytes in the block: at least `count`, unless the file ends first.
    pub fn fill(&mut self, count: usize) -> Result<&[u8]> {
        while self.end - self.start < count && self.read_block(count)? {}
        Ok(&self.block[self.start..self.end])
    }

    /// Skips bytes that [`BlockFile::fill`] returned.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset_bytes += count as u64;
    }

    /// Returns the next `count` bytes, if they fit into a block and the file does not end first.
    pub fn whole(&mut self, count: u64) -> Result<Option<&[u8]>> {
        match usize::try_from(count) {
            Ok(count @ ..=BLOCK_BYTES) => Ok(self.fill(count)?.get(..count)),
            _ => Ok(None),
        }
    }

    /// Copies the next `count` bytes. Returns `None` if the file ends first.
    pub fn take(&mut self, count: u64) -> Result<Option<Bytes>> {
        if count > BLOCK_BYTES as u64 {
            return self.take_large(count);
        }
        let count = count as usize;
        let taken = self.fill(count)?.get(..count).map(Bytes::copy_from_slice);
        self.consume(if taken.is_some() { count } else { 0 });
        Ok(taken)
    }

    /// Skips `count` bytes. Returns false if the file ends first.
    pub fn skip(&mut self, count: u64) -> Result<bool> {
        let mut rest = count;
        loop {
            let buffered = (self.end - self.start) as u64;
            self.consume(buffered.min(rest) as usize);
            rest -= buffered.min(rest);
            if rest == 0 {
                return Ok(true);
            }
            let left = self.length_bytes()?.map(|length| length.saturating_sub(self.offset_bytes));
            if left.is_some_and(|left| left < rest) {
                return Ok(false);
            }
            if let (Source::Regular(file), Ok(moved)) = (&mut self.source, i64::try_from(rest)) {
                file.seek(SeekFrom::Current(moved)).map_err(|error| self.failed(&error))?;
                self.offset_bytes += rest;
                return Ok(true);
            }
            if self.fill(1)?.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Moves to the offset of a saved state. Fails if the file is too short for that now.
    pub fn seek(&mut self, offset_bytes: u64) -> Result<()> {
        let rest = offset_bytes.checked_sub(self.offset_bytes);
        if rest.map_or(Ok(false), |rest| self.skip(rest))? {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "{}: the state to restore was saved at byte {offset_bytes}, but the file ends at byte {}. Restore it with \
             the file it was saved with.",
            self.name.text(),
            self.offset_bytes
        )))
    }

    /// Reserves memory for `count` bytes and reads. Returns whether any bytes arrived.
    fn read_block(&mut self, count: usize) -> Result<bool> {
        if self.start + count > self.block.len() {
            self.block.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.block.len() {
            // Don't allocate a claimed size before that many bytes have been read.
            let length = self.block_bytes.max(count.min(2 * self.end));
            allocate::reserve(&mut self.block, length - self.end)
                .map_err(|refusal| self.too_large(count as u64, refusal))?;
            #[expect(clippy::disallowed_methods, reason = "there is room")]
            self.block.resize(length, 0);
        }
        let read = retried(|| self.source.read(&mut self.block[self.end..]));
        let read = read.map_err(|error| self.failed(&error))?;
        self.end += read;
        Ok(read > 0)
    }

    /// Reads a record larger than a block directly into its own memory.
    fn take_large(&mut self, count: u64) -> Result<Option<Bytes>> {
        let left = self.length_bytes()?.map(|length| length.saturating_sub(self.offset_bytes));
        if left.is_some_and(|left| left < count) {
            return Ok(None);
        }
        let buffered = self.end - self.start;
        let capacity = if left.is_some() { count } else { count.min(2 * BLOCK_BYTES as u64) };
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        let mut bytes = allocate::room(capacity).map_err(|refusal| self.too_large(count, refusal))?;
        bytes.extend_from_slice(&self.block[self.start..self.end]);
        self.consume(buffered);
        let rest = count - buffered as u64;
        match allocate::read_to_end(&mut (&mut self.source).take(rest), &mut bytes) {
            Ok(()) => self.offset_bytes += (bytes.len() - buffered) as u64,
            Err(Unread::Refused(refusal)) => return Err(self.too_large(count, refusal)),
            Err(Unread::Failed(error)) => return Err(self.failed(&error)),
        }
        if bytes.len() as u64 != count {
            return Ok(None);
        }
        bytes.shrink_to_fit();
        Ok(Some(bytes.into()))
    }

    /// The error for a record of `count` bytes that doesn't fit into memory.
    pub fn too_large(&self, count: u64, refusal: Refusal) -> Error {
        let position = format!("{}: {}: {count} bytes do not fit into memory", self.name.text(), self.position());
        refusal.at(position).with_remedy("Split the record")
    }

    /// The error for a failed read, with the file, the record and the byte.
    fn failed(&self, error: &io::Error) -> Error {
        if let Some(error) = error_of_wait(error) {
            let is_begun = self.offset_bytes > self.record_bytes;
            return error.clone().of_wait(if is_begun { Wait::CutOff } else { Wait::Repeatable });
        }
        match &self.source {
            Source::Compressed(stream) if error.kind() == ErrorKind::InvalidData => {
                let (name, position, remedy) = (self.name.text(), self.position(), stream.remedy());
                Error::data_loss(format!("{name}: {error} ({position}). {remedy}"))
            }
            _ => Error::io(self.name.text(), error).with_remedy(&format!("It happened at {}.", self.position())),
        }
    }

    fn position(&self) -> String {
        let offset_bytes = self.offset_bytes + (self.end - self.start) as u64;
        format!("{}, after byte {offset_bytes} of the data", self.numbering.of(self.record))
    }
}
