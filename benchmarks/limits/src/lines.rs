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
    let mut batch = Batch::default();
    share.for_each_file(|mut bytes| {
        while let Some(length) = memchr(b'\n', bytes) {
            let line = &bytes[..length];
            bytes = &bytes[length + 1..];
            if pool.len() < capacity {
                pool.push(line.to_vec());
            } else {
                let place = &mut pool[random(&mut state, capacity)];
                batch.add(place);
                place.clear();
                place.extend_from_slice(line);
            }
        }
    });
    pool.iter().for_each(|line| batch.add(line));
    batch.finish();
    Tally { count: batch.count, sums: vec![batch.num_bytes] }
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    count: u64,
    num_bytes: i64,
}

impl Batch {
    fn add(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
        if self.ends.len() == BATCH_SIZE {
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.count += self.ends.len() as u64;
        self.num_bytes += self.bytes.len() as i64;
        // Each batch has memory of its own, since a program may keep it.
        let num_bytes = self.bytes.len() * 9 / 8;
        self.bytes = Vec::with_capacity(num_bytes);
        self.ends = Vec::with_capacity(BATCH_SIZE);
    }
}
