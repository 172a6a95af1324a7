//! Reads long runs of numbers from a file in parts.

use crate::blocks::block::FileProvenance;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::positioned::Positioned;
use headrace_engine::run::check_current;
use headrace_engine::tensor::allocate;
use std::sync::Arc;

/// The number of bytes to read at a time.
const PART_BYTES: u64 = 1 << 20;

/// Iterates over consecutive little-endian numbers of `SIZE` bytes.
pub struct Numbers<'a, const SIZE: usize> {
    file: &'a FileProvenance,
    input: &'a Positioned,
    offset: u64,
    /// The number of numbers that have not been read yet.
    rest: u64,
    buffer: Vec<u8>,
    next: usize,
}

impl<'a, const SIZE: usize> Numbers<'a, SIZE> {
    /// Iterates over `count` numbers of an open file, starting at a position.
    pub fn new((file, input): (&'a Arc<FileProvenance>, &'a Positioned), offset: u64, count: u64) -> Self {
        Self { file, input, offset, rest: count, buffer: Vec::new(), next: 0 }
    }

    /// Returns the next number, or `None` after the last one.
    pub fn next(&mut self) -> Result<Option<[u8; SIZE]>> {
        if self.next == self.buffer.len() {
            if self.rest == 0 {
                return Ok(None);
            }
            check_current()?;
            let count = self.rest.min(PART_BYTES / SIZE as u64);
            let name = self.file.name.text();
            self.buffer = allocate::zeros(count as usize * SIZE).map_err(|refusal| refusal.at(name))?;
            self.input.read(&mut self.buffer, self.offset).map_err(|error| Error::io(name, &error))?;
            (self.offset, self.rest, self.next) = (self.offset + count * SIZE as u64, self.rest - count, 0);
        }
        let number = self.buffer[self.next..].first_chunk().copied();
        self.next += SIZE;
        Ok(number)
    }
}
