//! The samples of tar archives: neighbouring files with one key.

use super::chunks::{CHUNK_BYTES, Place};
use super::tar::{Archive, Member};
use super::tar_input::Input;
use crate::error::{Error, Result};
use crate::pipeline::block::{Block, Origins};
use crate::pipeline::budget::Charge;
use crate::pipeline::column::{Column, Span, Text};
use crate::pipeline::nodes::files::Scan;
use crate::tensor::allocate;
use crate::text::excerpt::excerpt;
use bytes::Bytes;
use std::sync::Arc;

/// The samples of an archive.
pub(super) struct Samples<I> {
    archive: Archive<I>,
    extensions: Arc<[(String, Option<Bytes>)]>,
    /// The first file of the next sample, whose contents were not read.
    next: Option<Member>,
    /// The number of the next sample.
    sample: u64,
    is_over: bool,
    error: Option<Error>,
}

impl<I: Input> Samples<I> {
    /// The first sample of `archive` has number `sample`.
    pub fn new(archive: Archive<I>, extensions: Arc<[(String, Option<Bytes>)]>, sample: u64) -> Self {
        Self { archive, extensions, next: None, sample, is_over: false, error: None }
    }

    /// Reads a sample: the places of its key and of its files. `None` at the end of the archive.
    pub fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Vec<Span>>> {
        let first = match self.next.take() {
            Some(member) => Some(member),
            None => self.archive.next()?,
        };
        let Some(mut member) = first else { return Ok(None) };
        let key = member.key.clone();
        let mut spans: Vec<Option<Span>> = self.extensions.iter().map(|_| None).collect();
        loop {
            if let Some(column) = self.extensions.iter().position(|(name, _)| *name == member.extension) {
                if spans[column].is_some() {
                    let text = format!("has two files '{}', expected one. Rename one of them.", member.extension);
                    return Err(self.wrong(&key, &text));
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
        let mut all = vec![place(&key, bytes)?];
        for (span, (extension, default)) in spans.into_iter().zip(&*self.extensions) {
            all.push(match (span, default) {
                (Some(span), _) => span,
                (None, Some(default)) => place(default, bytes)?,
                (None, None) => return Err(self.lacking(&key, extension)),
            });
        }
        self.sample += 1;
        Ok(Some(all))
    }

    #[cold]
    fn wrong(&self, key: &[u8], text: &str) -> Error {
        let file = &self.archive.file;
        let place = format!("{}: {}", file.name.text(), file.numbering.of(self.sample));
        Error::invalid_argument(format!("{place}, '{}', {text}", excerpt(key)))
    }

    #[cold]
    fn lacking(&self, key: &[u8], extension: &str) -> Error {
        let names: Vec<_> = self.extensions.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        let text = format!(
            "has no file '{extension}', expected {names}, as the first sample has. Say what stands for it, with \
             defaults={{'{extension}': ...}}."
        );
        self.wrong(key, &text)
    }
}

/// Adds a copy of some bytes; returns where they are.
fn place(added: &[u8], bytes: &mut Vec<u8>) -> Result<Span> {
    allocate::grow(bytes, added.len()).map_err(|refusal| refusal.at("the samples of an archive"))?;
    let span = Span { start: bytes.len(), length: added.len() };
    bytes.extend_from_slice(added);
    Ok(span)
}

impl<I: Input + Send> Scan for Samples<I> {
    fn place(&self) -> Place {
        Place { offset_bytes: self.archive.begin, record: self.sample }
    }

    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        let first = self.sample;
        let mut bytes = Vec::new();
        let mut columns: Vec<Vec<Span>> = (0..=self.extensions.len()).map(|_| Vec::new()).collect();
        while !self.is_over && self.error.is_none() && bytes.len() < CHUNK_BYTES {
            match self.read(&mut bytes) {
                Ok(Some(spans)) => columns.iter_mut().zip(spans).for_each(|(column, span)| column.push(span)),
                Ok(None) => self.is_over = true,
                Err(error) => self.error = Some(error),
            }
        }
        let num_rows = columns.first().map_or(0, Vec::len);
        if num_rows == 0 {
            self.is_over = true;
            return self.error.take().map_or(Ok(None), Err);
        }
        let beside = columns.iter().map(|spans| size_of_val(&**spans)).sum();
        let bytes = charge.over(bytes, beside);
        let columns = columns.into_iter().map(|spans| Column::Text(Text::new(bytes.clone(), spans))).collect();
        Block::new(columns, num_rows, Origins::Run(Arc::clone(&self.archive.file), first)).map(Some)
    }
}
