//! Batches, each in memory of its own, since a program may keep it.

use std::mem;

/// The batch that is being filled.
pub struct Batches<T> {
    buffer: Vec<T>,
    width: usize,
    size: usize,
}

impl<T: Copy + Default> Batches<T> {
    /// Batches of `size` rows of `width` values.
    pub fn new(size: usize, width: usize) -> Self {
        Self { buffer: Vec::with_capacity(size * width), width, size }
    }

    /// Fills the next row. Passes the batch to `finish` if it is full.
    pub fn fill_row(&mut self, fill: impl FnOnce(&mut [T]), finish: impl FnOnce(&[T])) {
        let begin = self.buffer.len();
        self.buffer.resize(begin + self.width, T::default());
        fill(&mut self.buffer[begin..]);
        if self.buffer.len() == self.size * self.width {
            self.flush(finish);
        }
    }

    /// Passes the batch to `finish` as it is and begins the next one.
    pub fn flush(&mut self, finish: impl FnOnce(&[T])) {
        let next = Vec::with_capacity(self.size * self.width);
        finish(&mem::replace(&mut self.buffer, next));
    }
}
