//! Batches: a few buffers that are reused in turn, so that their pages stay in memory.

const NUM_BUFFERS: usize = 8;

/// The buffer of the batch that is being filled, and those after it.
pub struct Batches<T> {
    buffers: Vec<Vec<T>>,
    width: usize,
    size: usize,
    current: usize,
    row: usize,
}

impl<T: Copy + Default> Batches<T> {
    /// Batches of `size` rows of `width` values.
    pub fn new(size: usize, width: usize) -> Self {
        Self { buffers: vec![vec![T::default(); size * width]; NUM_BUFFERS], width, size, current: 0, row: 0 }
    }

    /// Fills the next row. Passes the batch to `finish` if it is full.
    pub fn fill_row(&mut self, fill: impl FnOnce(&mut [T]), finish: impl FnOnce(&[T])) {
        fill(&mut self.buffers[self.current][self.row * self.width..][..self.width]);
        self.row += 1;
        if self.row == self.size {
            self.flush(finish);
        }
    }

    /// Passes the incomplete batch to `finish` and begins the next one.
    pub fn flush(&mut self, finish: impl FnOnce(&[T])) {
        finish(&self.buffers[self.current][..self.row * self.width]);
        self.row = 0;
        self.current = (self.current + 1) % NUM_BUFFERS;
    }
}
