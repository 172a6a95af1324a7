//! TensorFlow's random number generator, Philox4x32 with 10 rounds. A seed produces the same
//! numbers as in TensorFlow.
//!
//! Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011),
//! with the keys and counters of TensorFlow 1.15.

use crate::error::Result;
use crate::saved::{Content, Reading, damaged};
use std::hash::{BuildHasher, Hasher, RandomState};

const ROUNDS: usize = 10;
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_INCREMENTS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The number of values that the generator computes at a time.
const BLOCK: usize = 4;

/// A stream of random numbers, generated in blocks of four.
#[derive(Clone, Debug)]
pub struct Philox {
    key: [u32; 2],
    /// The number of the next block.
    counter: u128,
    block: [u32; BLOCK],
    /// The number of values of `block` that were used.
    used: usize,
}

impl Philox {
    /// Creates the stream for a pair of seeds. (0, 0) is treated like any other pair.
    pub fn new(seed: i64, seed2: i64) -> Self {
        let (seed, seed2) = (seed as u64, seed2 as u64);
        let key = [seed as u32, (seed >> 32) as u32];
        Self { key, counter: u128::from(seed2) << 64, block: [0; BLOCK], used: BLOCK }
    }

    /// Creates the stream for a pipeline row, which is identified by its key.
    pub fn of_row(seed: u64, key: u64) -> Self {
        Self::new(seed.cast_signed(), key.cast_signed())
    }

    /// Creates a stream with a random seed.
    pub fn from_entropy() -> Self {
        let random = || RandomState::new().build_hasher().finish() as i64;
        Self::new(random(), random())
    }

    /// Creates the stream for a pair of seeds. (0, 0), which means "no seed" in TensorFlow, gives a
    /// random stream.
    pub fn from_seeds(seed: i64, seed2: i64) -> Self {
        match (seed, seed2) {
            (0, 0) => Self::from_entropy(),
            _ => Self::new(seed, seed2),
        }
    }

    /// The number of values consumed from the stream of a pair of seeds.
    pub fn position(&self) -> u64 {
        (self.counter as u64).wrapping_mul(BLOCK as u64).wrapping_sub((BLOCK - self.used) as u64)
    }

    /// Moves the stream of a pair of seeds to the position after `position` values.
    pub fn move_to(&mut self, position: u64) {
        let (block, used) = (position / BLOCK as u64, (position % BLOCK as u64) as usize);
        self.counter = self.counter >> 64 << 64 | u128::from(block);
        self.used = BLOCK;
        for _ in 0..used {
            self.next_u32();
        }
    }

    /// Saves the position of the stream.
    pub fn save(&self, content: &mut Content) {
        let numbers =
            [u64::from(self.key[0]), u64::from(self.key[1]), self.counter as u64, (self.counter >> 64) as u64];
        numbers.into_iter().chain([self.used as u64]).for_each(|number| content.number(number));
    }

    /// Restores a saved stream.
    pub fn restored(reading: &mut Reading) -> Result<Self> {
        let mut word = || u32::try_from(reading.number()?).map_err(|_| damaged());
        let key = [word()?, word()?];
        let counter = u128::from(reading.number()?) | u128::from(reading.number()?) << 64;
        let used = reading.size()?;
        if used > BLOCK {
            return Err(damaged());
        }
        let mut stream = Self { key, counter, block: [0; BLOCK], used };
        if used < BLOCK {
            stream.block = stream.generate(counter.wrapping_sub(1));
        }
        Ok(stream)
    }

    /// Returns the four values of the stream that begin at number `4 * block`.
    pub fn block_at(&self, block: u64) -> [u32; BLOCK] {
        self.generate(self.counter >> 64 << 64 | u128::from(block))
    }

    /// The next number.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.used == BLOCK {
            self.block = self.generate(self.counter);
            self.counter = self.counter.wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// Returns a stream of the next `count` values and moves this stream past them. Whole blocks
    /// are used; the rest of the current block is dropped.
    pub fn reserve(&mut self, count: usize) -> Self {
        self.reserve_blocks(count.div_ceil(BLOCK) as u128)
    }

    /// Like [`Philox::reserve`], for `count` blocks of four values.
    pub fn reserve_blocks(&mut self, count: u128) -> Self {
        let mut reserved = self.clone();
        reserved.skip_blocks(0);
        self.skip_blocks(count);
        reserved
    }

    /// Skips the rest of the current block and `count` more blocks.
    pub fn skip_blocks(&mut self, count: u128) {
        self.used = BLOCK;
        self.counter = self.counter.wrapping_add(count);
    }

    // Not inlined, because rustc 1.95 computes wrong numbers for x86-64 if it vectorises the products
    // of several blocks together, at opt-level 3 and with SLP vectorisation.
    #[inline(never)]
    fn generate(&self, counter: u128) -> [u32; BLOCK] {
        let mut key = self.key;
        let mut block = [counter as u32, (counter >> 32) as u32, (counter >> 64) as u32, (counter >> 96) as u32];
        for _ in 0..ROUNDS {
            let (high0, low0) = multiply(MULTIPLIERS[0], block[0]);
            let (high1, low1) = multiply(MULTIPLIERS[1], block[2]);
            block = [high1 ^ block[1] ^ key[0], low1, high0 ^ block[3] ^ key[1], low0];
            key = [key[0].wrapping_add(KEY_INCREMENTS[0]), key[1].wrapping_add(KEY_INCREMENTS[1])];
        }
        block
    }
}

/// The high and the low half of a product.
fn multiply(x: u32, y: u32) -> (u32, u32) {
    let product = u64::from(x) * u64::from(y);
    ((product >> 32) as u32, product as u32)
}

/// Hashes a pair of numbers.
///
/// Source: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014).
pub fn mix(one: u64, other: u64) -> u64 {
    let mut mixed = (one ^ other.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(mut stream: Philox, count: usize) -> Vec<u32> {
        (0..count).map(|_| stream.next_u32()).collect()
    }

    /// The test vectors for `philox4x32 10` from Random123, the authors' own library.
    #[test]
    fn blocks_match_the_random123_test_vectors() {
        let generate = |key, counter| Philox { key, ..Philox::new(0, 0) }.generate(counter);
        assert_eq!(generate([0, 0], 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(generate([u32::MAX; 2], u128::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            generate([0xa409_3822, 0x299f_31d0], 0x0370_7344_1319_8a2e_85a3_08d3_243f_6a88),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn restored_stream_continues() {
        for count in 0..9 {
            let mut stream = Philox::new(7, -8);
            for _ in 0..count {
                stream.next_u32();
            }
            let mut content = Content::default();
            stream.save(&mut content);
            let bytes = content.into_bytes();
            assert_eq!(numbers(Philox::restored(&mut Reading::new(&bytes)).unwrap(), 9), numbers(stream, 9));
        }
    }

    #[test]
    fn stream_depends_only_on_the_two_seeds() {
        assert_eq!(numbers(Philox::new(7, 8), 9), numbers(Philox::new(7, 8), 9));
        assert_ne!(numbers(Philox::new(7, 8), 9), numbers(Philox::new(8, 7), 9));
        assert_ne!(numbers(Philox::new(7, 8), 9), numbers(Philox::new(7 + (1 << 32), 8), 9));
        assert_eq!(numbers(Philox::from_seeds(0, 1), 9), numbers(Philox::new(0, 1), 9));
    }

    #[test]
    fn streams_from_entropy_differ() {
        assert_ne!(numbers(Philox::from_entropy(), 9), numbers(Philox::from_entropy(), 9));
        assert_ne!(numbers(Philox::from_seeds(0, 0), 9), numbers(Philox::from_seeds(0, 0), 9));
    }

    #[test]
    fn reserving_skips_whole_blocks() {
        let all = numbers(Philox::new(1, 2), 20);
        let mut stream = Philox::new(1, 2);
        assert_eq!(numbers(stream.reserve(9), 9), all[..9]);
        assert_eq!(numbers(stream.reserve(1), 4), all[12..16]);
        assert_eq!(stream.next_u32(), all[16]);
        assert!(numbers(stream.reserve(0), 0).is_empty());
    }
}
