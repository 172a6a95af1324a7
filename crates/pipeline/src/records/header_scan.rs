//! Reads selected positions of a file in ascending order, for scanning.

use crate::blocks::block::FileProvenance;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::positioned::Positioned;
use headrace_engine::run::check_current;
use headrace_engine::tensor::allocate;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// The number of bytes to read at a time if the positions are close together.
const WINDOW_BYTES: usize = 256 * 1024;
/// The number of bytes to read at a time if the positions are far apart.
const SMALL_WINDOW_BYTES: usize = 4 * 1024;
/// Positions at least this far apart are read individually.
const FAR_BYTES: u64 = 64 * 1024;
/// The number of bytes to read at a time from a remote file, where a request takes as long as
/// reading many bytes.
const REMOTE_WINDOW_BYTES: usize = 4 * 1024 * 1024;

/// A file being scanned.
pub struct HeaderScan {
    file: Positioned,
    name: Arc<FileProvenance>,
    len: u64,
    window: Vec<u8>,
    /// The number of bytes in the window.
    filled: usize,
    start: u64,
    /// The last position that was read.
    last: u64,
}

impl HeaderScan {
    /// `len` is the size of the file.
    pub fn new(file: Positioned, name: &Arc<FileProvenance>, len: u64) -> Result<Self> {
        let window_bytes = if file.is_remote() { REMOTE_WINDOW_BYTES } else { WINDOW_BYTES };
        let window = allocate::zeros(window_bytes).map_err(|refusal| refusal.at(name.name.text()))?;
        Ok(Self { file, name: Arc::clone(name), len, window, filled: 0, start: 0, last: 0 })
    }

    /// The size of the file.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes of the window from `offset` on: at least `least` bytes, unless the file
    /// ends first.
    pub fn at(&mut self, offset: u64, least: usize) -> Result<&[u8]> {
        let far_bytes = if self.file.is_remote() { REMOTE_WINDOW_BYTES as u64 } else { FAR_BYTES };
        let is_far = offset.saturating_sub(self.last) > far_bytes;
        self.last = offset;
        let end = self.start + self.filled as u64;
        let needed_end = self.len.min(offset.saturating_add(least as u64));
        if offset < self.start || needed_end > end {
            check_current()?;
            let length = if is_far { SMALL_WINDOW_BYTES } else { self.window.len() };
            let length = length.min(usize::try_from(self.len - offset).unwrap_or(usize::MAX));
            (self.start, self.filled) = (offset, 0);
            let read = self.file.read(&mut self.window[..length], offset);
            read.map_err(|error| self.failed(&error))?;
            self.filled = length;
        }
        Ok(&self.window[(offset - self.start) as usize..self.filled])
    }

    fn failed(&self, error: &io::Error) -> Error {
        let name = self.name.name.text();
        match error.kind() {
            ErrorKind::UnexpectedEof => Error::data_loss(format!(
                "{name}: the file became shorter while it was read. Finish writing the files before you read them"
            )),
            _ => Error::io(name, error),
        }
    }
}
