//! The samples of tar archives: neighbouring files with the same key.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::{Column, Span, Text};
use crate::budget::Charge;
use crate::formats::chunks::CHUNK_BYTES;
use crate::formats::tar::archive::{Archive, Member};
use crate::formats::tar::input::Input;
use crate::records::{RecordPosition, Scan};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::allocate;
use headrace_engine::text::excerpt::excerpt;
use std::sync::Arc;

/// Iterates over the samples of an archive.
pub(super) struct Samples<I> {
    archive: Archive<I>,
    extensions: Arc<[(String, Option<Bytes>)]>,
    /// The first file of the next sample. Its contents have not been read.
    next: Option<Member>,
    /// The number of the next sample.
    sample: u64,
    is_over: bool,
    error: Option<Error>,
    /// The position at which the current sample begins.
    begin: u64,
    /// The key of the current sample, if the sample rather than the archive is faulty.
    at_fault: Option<Vec<u8>>,
    /// After an error: the position of the sample that caused it.
    stopped_at: Option<u64>,
    /// Samples that begin at or after this byte are not read.
    end: u64,
}

impl<I: Input> Samples<I> {
    /// The first sample of `archive` has number `sample`.
    pub fn new(archive: Archive<I>, extensions: Arc<[(String, Option<Bytes>)]>, sample: u64) -> Self {
        let (begin, end) = (archive.begin, u64::MAX);
        let (next, error, at_fault, stopped_at) = (None, None, None, None);
        Self { archive, extensions, next, sample, is_over: false, error, begin, at_fault, stopped_at, end }
    }

    /// Only reads the samples that begin before this byte of the archive.
    pub fn before(self, end: u64) -> Self {
        Self { end, ..self }
    }

    /// Returns true if the most recent sample is the last one.
    pub fn is_over(&self) -> bool {
        self.next.is_none()
    }

    /// Reads a sample: the spans of its key and of its files. Returns `None` at the end of the
    /// archive.
    pub fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Vec<Span>>> {
        let first = match self.next.take() {
            Some(member) => Ok(Some(member)),
            None => self.archive.next(),
        };
        self.begin = self.archive.begin;
        let first = first?;
        let Some(mut member) = first else { return Ok(None) };
        let key = member.key.clone();
        let mut spans: Vec<Option<Span>> = self.extensions.iter().map(|_| None).collect();
        loop {
            if let Some(column) = self.extensions.iter().position(|(name, _)| *name == member.extension) {
                if spans[column].is_some() {
                    let text = format!("has two files '{}', expected one. Rename one of them.", member.extension);
                    let error = self.wrong(&key, &text);
                    self.at_fault = Some(key);
                    return Err(error);
                }
                if let Some(what) = &member.stranger {
                    let text = format!(
                        "has a file '{}' that is {what}, expected a regular file. Write the archive with tar \
                         --dereference --hard-dereference.",
                        member.extension
                    );
                    let error = self.wrong(&key, &text);
                    self.at_fault = Some(key);
                    return Err(error);
                }
                spans[column] = Some(self.archive.contents(member.num_bytes, bytes)?);
            }
            match self.archive.next()? {
                Some(next) if next.key == key => member = next,
                next => {
                    self.next = next;
                    break;
                }
            }
        }
        let mut all = vec![position(&key, bytes)?];
        for (span, (extension, default)) in spans.into_iter().zip(&*self.extensions) {
            all.push(match (span, default) {
                (Some(span), _) => span,
                (None, Some(default)) => position(default, bytes)?,
                (None, None) => {
                    let error = self.lacking(&key, extension);
                    self.at_fault = Some(key);
                    return Err(error);
                }
            });
        }
        self.sample += 1;
        Ok(Some(all))
    }

    #[cold]
    fn wrong(&self, key: &[u8], text: &str) -> Error {
        let file = &self.archive.file;
        let position = format!("{}: {}", file.name.text(), file.record_name(self.sample));
        Error::invalid_argument(format!("{position}, '{}', {text}", excerpt(key)))
    }

    #[cold]
    fn lacking(&self, key: &[u8], extension: &str) -> Error {
        let names: Vec<_> = self.extensions.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        let text = format!(
            "has no file '{extension}', expected {names}, as the first sample has. Set a default with \
             defaults={{'{extension}': ...}}."
        );
        self.wrong(key, &text)
    }
}

/// Appends a copy of some bytes and returns their span.
fn position(added: &[u8], bytes: &mut Vec<u8>) -> Result<Span> {
    allocate::grow(bytes, added.len()).map_err(|refusal| refusal.at("the samples of an archive"))?;
    let span = Span { start: bytes.len(), length: added.len() };
    bytes.extend_from_slice(added);
    Ok(span)
}

impl<I: Input + Send> Scan for Samples<I> {
    fn position(&self) -> RecordPosition {
        RecordPosition { offset_bytes: self.stopped_at.unwrap_or(self.archive.begin), record: self.sample }
    }

    fn go_on(&mut self) -> bool {
        let Some(key) = self.at_fault.take() else { return false };
        while self.next.is_none() {
            match self.archive.next() {
                Ok(Some(member)) if member.key == key => {}
                Ok(Some(member)) => self.next = Some(member),
                Ok(None) => break,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.sample += 1;
        (self.is_over, self.stopped_at) = (false, None);
        true
    }

    fn rest_bytes(&self) -> Option<u64> {
        self.archive.size()?.checked_sub(self.position().offset_bytes)
    }

    fn locate(&mut self) -> Result<Vec<(u64, u64)>> {
        let (mut samples, mut bytes) = (Vec::new(), Vec::new());
        while !self.is_over && bytes.len() < CHUNK_BYTES {
            let sample = self.sample;
            let read = self.read(&mut bytes);
            if !matches!(read, Ok(None)) {
                samples.push((sample, self.begin));
            }
            self.is_over = match read {
                Ok(Some(_)) => false,
                Ok(None) => true,
                Err(_) => !self.go_on(),
            };
        }
        Ok(samples)
    }

    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        let first = self.sample;
        let mut bytes = Vec::new();
        let mut columns: Vec<Vec<Span>> = (0..=self.extensions.len()).map(|_| Vec::new()).collect();
        while !self.is_over && self.error.is_none() && bytes.len() < CHUNK_BYTES {
            if self.archive.begin >= self.end {
                self.is_over = true;
                break;
            }
            match self.read(&mut bytes) {
                Ok(Some(spans)) => columns.iter_mut().zip(spans).for_each(|(column, span)| column.push(span)),
                Ok(None) => self.is_over = true,
                Err(error) => self.error = Some(error),
            }
        }
        let num_rows = columns.first().map_or(0, Vec::len);
        if num_rows == 0 {
            self.is_over = true;
            let Some(error) = self.error.take() else { return Ok(None) };
            self.stopped_at = Some(self.begin);
            return Err(error);
        }
        let beside = columns.iter().map(|spans| size_of_val(&**spans)).sum();
        let bytes = charge.over(bytes, beside);
        let columns = columns.into_iter().map(|spans| Column::Text(Text::new(bytes.clone(), spans))).collect();
        Block::new(columns, num_rows, Provenance::Run(Arc::clone(&self.archive.file), first)).map(Some)
    }
}
