//! Sizes of groups that depend on their position in the global order.

use std::iter::once;
use std::sync::Arc;

/// The sizes of batches, or the lengths of packed rows, by the position at which they begin.
/// Positions count the rows of all ranks; a size is for one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The position from which each size applies, ascending from 0.
    sizes: Arc<[(u64, usize)]>,
    num_ranks: u64,
}

impl Sizes {
    /// Sizes from these positions on; `None` unless positions ascend from 0 and no size is 0.
    pub fn new(sizes: Vec<(u64, usize)>, num_ranks: u64) -> Option<Self> {
        let begins = sizes.first().is_some_and(|(position, _)| *position == 0);
        let ascends = sizes.is_sorted_by(|(one, _), (other, _)| one < other);
        let is_valid = begins && ascends && sizes.iter().all(|(_, size)| *size > 0);
        is_valid.then(|| Self { sizes: sizes.into(), num_ranks: num_ranks.max(1) })
    }

    /// One size at all positions, at least 1.
    pub fn constant(size: usize) -> Self {
        Self { sizes: [(0, size.max(1))].into(), num_ranks: 1 }
    }

    /// The same sizes for a different number of ranks.
    pub fn of_ranks(&self, num_ranks: u64) -> Self {
        Self { num_ranks: num_ranks.max(1), ..self.clone() }
    }

    /// The number of ranks.
    pub fn num_ranks(&self) -> u64 {
        self.num_ranks
    }

    /// True if there is a single size.
    pub fn is_constant(&self) -> bool {
        self.sizes.len() == 1
    }

    /// The size at a position.
    pub fn at(&self, position: u64) -> usize {
        let number = self.sizes.partition_point(|(first, _)| *first <= position);
        self.sizes[number.saturating_sub(1)].1
    }

    /// The largest size.
    pub fn largest(&self) -> usize {
        self.sizes.iter().map(|(_, size)| *size).max().unwrap_or(1)
    }

    /// From a position on: the numbers of consecutive batches of one size, with the size.
    fn runs(&self, mut position: u64) -> impl Iterator<Item = (u64, u64)> {
        let ends = self.sizes.iter().skip(1).map(|(end, _)| *end).chain(once(u64::MAX));
        self.sizes.iter().zip(ends).map(move |((_, size), end)| {
            let step = (*size as u64).saturating_mul(self.num_ranks);
            let count = end.saturating_sub(position).div_ceil(step);
            position = position.saturating_add(count.saturating_mul(step));
            (count, *size as u64)
        })
    }

    /// The number of rows that one rank has in the next `num_batches` batches.
    pub fn num_rows(&self, position: u64, mut num_batches: u64) -> u64 {
        let mut num_rows = 0_u64;
        for (count, size) in self.runs(position) {
            let count = count.min(num_batches);
            num_rows = num_rows.saturating_add(count.saturating_mul(size));
            num_batches -= count;
        }
        num_rows
    }

    /// The number of batches that one rank makes of the next `num_rows` rows.
    pub fn num_batches(&self, position: u64, mut num_rows: u64, drops_remainder: bool) -> u64 {
        let mut num_batches = 0;
        for (count, size) in self.runs(position) {
            let num_whole = (num_rows / size).min(count);
            num_batches += num_whole;
            num_rows -= num_whole * size;
            if num_whole < count {
                return num_batches + u64::from(num_rows > 0 && !drops_remainder);
            }
        }
        num_batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(num_ranks: u64) -> Sizes {
        Sizes::new([(0, 2), (5, 3), (20, 10)].into(), num_ranks).unwrap()
    }

    #[test]
    fn batches_have_the_size_at_their_position() {
        for (num_ranks, expected) in [(1, [2, 2, 2, 3, 3, 3, 3, 3, 10, 10]), (2, [2, 2, 3, 3, 10, 10, 10, 10, 10, 10])]
        {
            let sizes = sizes(num_ranks);
            let (mut position, mut num_rows) = (0, 0);
            for (number, size) in (0..).zip(expected) {
                assert_eq!(sizes.at(position), size);
                assert_eq!(sizes.num_rows(0, number), num_rows);
                assert_eq!(sizes.num_batches(0, num_rows, false), number);
                assert_eq!(sizes.num_batches(0, num_rows + 1, false), number + 1);
                assert_eq!(sizes.num_batches(0, num_rows + 1, true), number);
                position += size as u64 * num_ranks;
                num_rows += size as u64;
            }
        }
    }

    #[test]
    fn counts_continue_from_a_position() {
        assert_eq!(sizes(1).num_rows(18, 3), 3 + 10 + 10);
        assert_eq!(sizes(1).num_batches(18, 14, false), 3);
        assert_eq!(Sizes::constant(4).num_rows(0, u64::MAX), u64::MAX);
    }

    #[test]
    fn invalid_sizes_are_rejected() {
        for invalid in [&[][..], &[(1, 2)], &[(0, 2), (0, 3)], &[(0, 2), (5, 0)], &[(0, 2), (5, 3), (4, 3)]] {
            assert_eq!(Sizes::new(invalid.to_vec(), 1), None, "{invalid:?}");
        }
    }
}
