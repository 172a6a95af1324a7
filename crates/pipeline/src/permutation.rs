//! A keyed permutation of the numbers below `n` in constant memory, used as the order of a full
//! shuffle.
//!
//! A Feistel network permutes the numbers with an even number of bits. A result of `n` or more goes
//! through the network again ("cycle walking") until it is below `n`. The round function multiplies
//! and folds 128 bits. Its keys are drawn from Philox.
//!
//! Source: Black and Rogaway, "Ciphers with Arbitrary Finite Domains" (CT-RSA 2002).

use headrace_engine::philox::Philox;
use std::ops::Range;

/// The number of rounds, enough to pass the statistical tests below.
const ROUNDS: usize = 8;

/// A permutation.
#[derive(Clone, Debug)]
pub struct Permutation {
    len: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// Creates the permutation of `0..len` for a pair of seeds.
    pub fn new(len: u64, seed: u64, pass: u64) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let half_bits = bits.div_ceil(2).max(1);
        let mut random = Philox::new(seed.cast_signed(), pass.cast_signed());
        let keys = std::array::from_fn(|_| u64::from(random.next_u32()) << 32 | u64::from(random.next_u32()));
        Self { len, half_bits, keys }
    }

    /// The number of permuted numbers.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number at position `index`, which must be less than the length.
    pub fn get(&self, index: u64) -> u64 {
        let mut number = self.step(index);
        while number >= self.len {
            number = self.step(number);
        }
        number
    }

    /// The numbers at these positions. All positions must be less than the length.
    ///
    /// Equivalent to calling [`Permutation::get`] for each of them, but several computations
    /// overlap in the CPU.
    pub fn get_all(&self, indexes: Range<u64>) -> Vec<u64> {
        let mut numbers: Vec<_> = indexes.map(|index| self.step(index)).collect();
        // The positions of the numbers that have to go through the network again.
        let mut again: Vec<_> = (0..numbers.len()).collect();
        let mut num_again = self.keep_too_large(&numbers, &mut again);
        while num_again > 0 {
            again.truncate(num_again);
            again.iter().for_each(|position| numbers[*position] = self.step(numbers[*position]));
            num_again = self.keep_too_large(&numbers, &mut again);
        }
        numbers
    }

    /// Moves the positions of numbers that are too large to the front, and returns how many there
    /// are.
    fn keep_too_large(&self, numbers: &[u64], positions: &mut [usize]) -> usize {
        let mut count = 0;
        for index in 0..positions.len() {
            let position = positions[index];
            // Avoid a branch, which would be mispredicted for every third number.
            positions[count] = position;
            count += usize::from(numbers[position] >= self.len);
        }
        count
    }

    fn step(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (fold(right, key) & mask));
        }
        left << self.half_bits | right
    }
}

/// Adds the two halves of a product without carry.
///
/// Source: the mixing function of wyhash, by Wang Yi.
fn fold(value: u64, key: u64) -> u64 {
    let product = u128::from(value ^ key) * u128::from(key | 1);
    let folded = product as u64 ^ (product >> 64) as u64;
    folded ^ folded >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_appears_once() {
        for len in [1, 2, 3, 5, 16, 17, 1000, 4096, 5000] {
            let permutation = Permutation::new(len, 7, 3);
            let mut numbers: Vec<_> = (0..len).map(|index| permutation.get(index)).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn numbers_computed_together_match_those_computed_separately() {
        for len in [1, 2, 5, 17, 1000, 5000] {
            let permutation = Permutation::new(len, 7, 3);
            for part in [0..len, 0..0, len / 3..len, len / 2..len / 2 + 1] {
                let alone: Vec<_> = part.clone().map(|index| permutation.get(index)).collect();
                assert_eq!(permutation.get_all(part), alone);
            }
        }
    }

    #[test]
    fn different_seeds_and_passes_have_different_orders() {
        let order = |seed, pass| {
            let permutation = Permutation::new(100, seed, pass);
            (0..100).map(|index| permutation.get(index)).collect::<Vec<_>>()
        };
        assert_eq!(order(1, 2), order(1, 2));
        assert_ne!(order(1, 2), order(1, 3));
        assert_ne!(order(1, 2), order(2, 2));
    }

    /// The chi-square statistic of the numbers at each position over many seeds. It has 9 degrees
    /// of freedom, so its 0.9999 quantile is 33.7.
    #[test]
    fn each_number_is_equally_likely_at_each_position() {
        const LEN: u64 = 10;
        const SEEDS: u64 = 5000;
        for position in 0..LEN {
            let mut counts = [0_u64; LEN as usize];
            for seed in 0..SEEDS {
                counts[Permutation::new(LEN, seed, 0).get(position) as usize] += 1;
            }
            let expected = (SEEDS / LEN) as f64;
            let statistic: f64 = counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
            assert!(statistic < 33.7, "position {position}: {counts:?}");
        }
    }
}
