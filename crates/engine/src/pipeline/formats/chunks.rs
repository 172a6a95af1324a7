//! A file in chunks that end between two records.

use super::source::{Codec, Source};
use crate::error::{Error, Result};
use crate::files::compression::Compression;
use crate::pipeline::block::{Block, FileOrigin, Origins};
use crate::pipeline::budget::Charge;
use crate::pipeline::column::{Column, Span, Text};
use crate::pipeline::index::Scanned;
use crate::pipeline::nodes::files::Scan;
use crate::tensor::allocate::{self, Unread};
use std::sync::Arc;

/// How many bytes a chunk has, unless one record has more.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// How a format finds its records.
pub trait Split: Send {
    /// Finds the whole records at the beginning of `chunk`, whose first byte is that number `offset_bytes` of the file and
    /// whose first record is that number `record`.
    fn split(&mut self, chunk: &[u8], at: Place, is_last: bool) -> Found;
}

/// A place in a file, uncompressed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Its offset.
    pub offset_bytes: u64,
    /// The number of the record that begins there.
    pub record: u64,
}

/// What was found in a chunk.
#[derive(Default)]
pub struct Found {
    pub spans: Vec<Span>,
    /// So many bytes were these records.
    pub used: usize,
    /// What is wrong with the record that follows.
    pub error: Option<Error>,
    /// `None` if the records are numbered one after the other.
    pub numbers: Option<Numbers>,
}

/// The numbers of records of which some are left out, or take more than one number.
pub struct Numbers {
    /// That of each record.
    pub of_records: Vec<u64>,
    /// That of the record that follows.
    pub next: u64,
}

/// The chunks of a file.
pub struct Chunks<S> {
    file: Arc<FileOrigin>,
    source: Source,
    split: S,
    /// Read and not used: the beginning of a record.
    rest: Vec<u8>,
    at: Place,
    is_last: bool,
    error: Option<Error>,
    /// Nothing more can be read. The records before it come first.
    failure: Option<Error>,
}

impl<S: Split> Chunks<S> {
    /// Opens a file at a place where a record begins.
    pub fn open(file: &Arc<FileOrigin>, codec: Codec, split: S, at: Place) -> Result<Self> {
        let mut source = Source::open(file, codec)?;
        source.skip_to(file, at.offset_bytes)?;
        let (file, rest) = (Arc::clone(file), Vec::new());
        Ok(Self { file, source, split, rest, at, is_last: false, error: None, failure: None })
    }

    /// Reads until there are `wanted` bytes, or the file ends.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        let missing = wanted.saturating_sub(self.rest.len());
        let place = || format!("{}: {}", self.file.name.text(), self.file.numbering.of(self.at.record));
        allocate::reserve(&mut self.rest, missing)
            .map_err(|refusal| refusal.at(place()).with_remedy("Split the record"))?;
        let before = self.rest.len();
        match self.source.read_more(&mut self.rest, missing) {
            Ok(()) => {}
            Err(Unread::Refused(refusal)) => return Err(refusal.at(place()).with_remedy("Split the record")),
            Err(Unread::Failed(error)) => {
                self.failure = Some(self.failed(&error));
                return Ok(());
            }
        }
        self.is_last = self.rest.len() - before < missing;
        Ok(())
    }

    /// Where the next `num_rows` records were read; goes on behind them.
    fn origins(&mut self, num_rows: usize, numbers: Option<Numbers>) -> Origins {
        let (file, first) = (Arc::clone(&self.file), self.at.record);
        let Some(numbers) = numbers else {
            self.at.record += num_rows as u64;
            return Origins::Run(file, first);
        };
        self.at.record = numbers.next;
        match &numbers.of_records[..] {
            // As they increase, no number is left out.
            [first, .., last] if last - first + 1 == num_rows as u64 => Origins::Run(file, *first),
            each => Origins::records(&file, each.iter().copied()),
        }
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        let record = self.file.numbering.of(self.at.record);
        let place = format!("{record}, after byte {} of the data", self.at.offset_bytes + self.rest.len() as u64);
        self.source.error(&self.file, error, &place)
    }

    /// The next chunk, and the records that were found in it: at least one.
    fn next_chunk(&mut self) -> Result<Option<(Vec<u8>, Found)>> {
        let mut wanted = CHUNK_BYTES;
        loop {
            if let Some(error) = self.error.take() {
                self.is_last = true;
                self.rest.clear();
                return Err(error);
            }
            if !self.is_last && self.failure.is_none() {
                self.fill(wanted)?;
            }
            let mut found = self.split.split(&self.rest, self.at, self.is_last);
            self.error = found.error.take();
            if found.spans.is_empty() {
                if self.error.is_some() {
                    continue;
                }
                if let Some(failure) = self.failure.take() {
                    self.is_last = true;
                    self.rest.clear();
                    return Err(failure);
                }
                if self.is_last {
                    return Ok(None);
                }
                // The record is larger than the chunk. No size that a file claims is believed.
                wanted = self.rest.len().saturating_mul(2).max(CHUNK_BYTES);
                continue;
            }
            let rest = allocate::room::<u8>(CHUNK_BYTES).map_err(|refusal| refusal.at(self.file.name.text()));
            let mut rest = rest?;
            rest.extend_from_slice(&self.rest[found.used..]);
            return Ok(Some((std::mem::replace(&mut self.rest, rest), found)));
        }
    }
}

impl<S: Split> Scan for Chunks<S> {
    fn place(&self) -> Place {
        self.at
    }

    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        let Some((chunk, found)) = self.next_chunk()? else { return Ok(None) };
        let num_rows = found.spans.len();
        let origins = self.origins(num_rows, found.numbers);
        self.at.offset_bytes += found.used as u64;
        let beside = size_of_val(&*found.spans) + origins.held_bytes();
        let column = Column::Text(Text::new(charge.over(chunk, beside), found.spans));
        Block::new(vec![column], num_rows, origins).map(Some)
    }
}

/// Finds the records of an uncompressed file of `len` bytes as those who read it do. The spans that are found must begin
/// where their records do.
pub fn scan(file: &Arc<FileOrigin>, split: impl Split, len: u64) -> Result<Scanned> {
    let mut chunks = Chunks::open(file, Codec::Known(Compression::None), split, Place::default())?;
    let mut scanned = Scanned::default();
    while let Some((_, found)) = chunks.next_chunk()? {
        let at = chunks.at;
        for (index, span) in found.spans.iter().enumerate() {
            let number = found.numbers.as_ref().map_or(at.record + index as u64, |numbers| numbers.of_records[index]);
            scanned.push(at.offset_bytes + span.start as u64, number)?;
        }
        let next = found.numbers.map_or(at.record + found.spans.len() as u64, |numbers| numbers.next);
        chunks.at = Place { offset_bytes: at.offset_bytes + found.used as u64, record: next };
    }
    scanned.offsets.push(len)?;
    Ok(scanned)
}
