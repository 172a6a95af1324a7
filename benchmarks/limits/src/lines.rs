//! Text lines are found, shuffled and batched: their bytes one after the other, and where each ends.

use crate::pool::random;
use crate::{Share, Tally};
use memchr::memchr;

const BATCH_SIZE: usize = 1_024;
const NUM_WAITING: usize = 10_000;

pub fn run(share: &Share) -> Tally {
    let capacity = NUM_WAITING / share.num_threads;
    // Each slot keeps its memory for later lines.
    let mut pool: Vec<Vec<u8>> = Vec::with_capacity(capacity);
    let mut state = 0x2545_f491;
    let mut batch = Batch::new(BATCH_SIZE);
    share.for_each_file(|bytes| {
        for_each_line(bytes, |line| {
            if pool.len() < capacity {
                pool.push(line.to_vec());
            } else {
                let place = &mut pool[random(&mut state, capacity)];
                batch.add(place);
                place.clear();
                place.extend_from_slice(line);
            }
        });
    });
    pool.iter().for_each(|line| batch.add(line));
    batch.finish();
    Tally { count: batch.count, sums: vec![batch.num_bytes] }
}

/// Calls `body` with each line.
pub fn for_each_line(mut bytes: &[u8], mut body: impl FnMut(&[u8])) {
    while let Some(length) = memchr(b'\n', bytes) {
        body(&bytes[..length]);
        bytes = &bytes[length + 1..];
    }
}

/// Strings one after the other, and where each ends.
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    size: usize,
    /// The strings of the batches so far, and their bytes.
    pub count: u64,
    pub num_bytes: i64,
}

impl Batch {
    /// Batches of `size` strings.
    pub fn new(size: usize) -> Self {
        Self { bytes: Vec::new(), ends: Vec::with_capacity(size), size, count: 0, num_bytes: 0 }
    }

    /// Adds a string; finishes the batch if it is full.
    pub fn add(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
        if self.ends.len() == self.size {
            self.finish();
        }
    }

    /// Counts the batch as it is and begins the next one.
    pub fn finish(&mut self) {
        self.count += self.ends.len() as u64;
        self.num_bytes += self.bytes.len() as i64;
        // Each batch has memory of its own, since a program may keep it.
        let num_bytes = self.bytes.len() * 9 / 8;
        self.bytes = Vec::with_capacity(num_bytes);
        self.ends = Vec::with_capacity(self.size);
    }
}
