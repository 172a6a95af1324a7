//! Reads a file from a position on. Several positions share one open file.

use crate::files::positioned::Positioned;
use crate::files::storage::{self, Coming};
use crate::tensor::allocate;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;

/// The minimum number of bytes to request at a time.
const LEAST_BYTES: u64 = 64 << 10;

/// Bytes that have been requested.
pub struct ComingBytes {
    range: Range<u64>,
    coming: Box<dyn Coming>,
}

impl ComingBytes {
    /// Requests a range of a remote file, without waiting.
    pub fn begin(file: &Positioned, range: Range<u64>) -> Option<Self> {
        let coming = file.begin(std::iter::once(range.clone()))?;
        Some(Self { range, coming })
    }

    /// Returns true if they have arrived.
    pub fn is_ready(&mut self) -> bool {
        self.coming.is_ready()
    }

    /// The number of bytes.
    pub fn num_bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    fn wait(self) -> io::Result<(u64, Vec<u8>)> {
        let num_bytes = usize::try_from(self.num_bytes()).unwrap_or(usize::MAX);
        let mut bytes = allocate::zeros(num_bytes).map_err(|refusal| io::Error::other(refusal.at("a remote file")))?;
        self.coming.wait(&mut [&mut bytes[..]])?;
        Ok((self.range.start, bytes))
    }
}

/// A file that is read from a position on.
pub struct Ranged {
    file: Arc<Positioned>,
    /// The size of the file.
    len: u64,
    at: u64,
    coming: Option<ComingBytes>,
    /// Some bytes of the file, and the offset of the first one.
    bytes: Vec<u8>,
    start: u64,
}

impl Ranged {
    /// Reads a file of `len` bytes from `at` on. Some of the bytes may have been requested already.
    pub fn new(file: &Arc<Positioned>, len: u64, at: u64, coming: Option<ComingBytes>) -> Self {
        let coming = coming.filter(|coming| coming.range.contains(&at));
        Self { file: Arc::clone(file), len, at, coming, bytes: Vec::new(), start: 0 }
    }

    /// Moves to a position, or to the end if that is earlier. Returns the position.
    pub fn seek(&mut self, at: u64) -> u64 {
        self.at = at.min(self.len);
        self.at
    }

    /// Reads from a local file directly into a buffer.
    fn read_local(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let count = left.min(buffer.len());
        self.file.read(&mut buffer[..count], self.at).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => storage::as_io(storage::changed("it became shorter")),
            _ => error,
        })?;
        self.at += count as u64;
        Ok(count)
    }

    /// Returns the next bytes, at least one unless the file ends. If none are available, requests
    /// about `num_bytes`.
    fn fill(&mut self, num_bytes: u64) -> io::Result<&[u8]> {
        let range = self.start..self.start + self.bytes.len() as u64;
        if !range.contains(&self.at) && self.at < self.len {
            let end = self.at.saturating_add(num_bytes.max(LEAST_BYTES)).min(self.len);
            let coming = match self.coming.take() {
                Some(coming) => Some(coming),
                None => ComingBytes::begin(&self.file, self.at..end),
            };
            let coming = coming.ok_or_else(|| io::Error::other("the file is not remote"))?;
            (self.start, self.bytes) = coming.wait()?;
        }
        let first = usize::try_from(self.at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        Ok(self.bytes.get(first..).unwrap_or_default())
    }
}

impl Read for Ranged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.file.is_remote() {
            return self.read_local(buffer);
        }
        let bytes = self.fill(buffer.len() as u64)?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.at += count as u64;
        Ok(count)
    }
}
