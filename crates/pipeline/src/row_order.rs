//! The order of all rows in a pass: a permutation, or draws with replacement.

use crate::permutation::Permutation;
use headrace_engine::error::{Error, Result};
use headrace_engine::philox::{Philox, mix};
use headrace_engine::tensor::Tensor;
use std::ops::Range;
use std::sync::Arc;

/// The stage that reads all rows in such an order, for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderStage {
    /// A full shuffle.
    #[default]
    Shuffle,
    /// `sample`.
    Sample,
}

impl OrderStage {
    /// The stage with this name, if any.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Shuffle, Self::Sample].into_iter().find(|stage| stage.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shuffle => "shuffle",
            Self::Sample => "sample",
        }
    }

    /// A remedy without random access that follows others; empty if there is none.
    pub fn or_window(self) -> &'static str {
        match self {
            Self::Shuffle => ", or use a window, such as shuffle(window=10_000)",
            Self::Sample => "",
        }
    }
}

/// An order of row numbers with random access: the number at a position is computed from the
/// position alone.
#[derive(Debug)]
pub enum RowOrder {
    /// Each row once.
    Permuted(Permutation),
    /// Rows drawn by weight, any number of times.
    Drawn(Draws),
}

impl RowOrder {
    /// The number of positions.
    pub fn len(&self) -> u64 {
        match self {
            Self::Permuted(permutation) => permutation.len(),
            Self::Drawn(draws) => draws.num_draws,
        }
    }

    /// True if it has no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows that it orders.
    pub fn num_rows(&self) -> u64 {
        match self {
            Self::Permuted(permutation) => permutation.len(),
            Self::Drawn(draws) => draws.rows.num_rows,
        }
    }

    /// The draws, if rows are drawn with replacement.
    pub fn draws(&self) -> Option<&Draws> {
        match self {
            Self::Permuted(_) => None,
            Self::Drawn(draws) => Some(draws),
        }
    }

    /// The row number at a position, which must be less than the length.
    pub fn get(&self, position: u64) -> u64 {
        match self {
            Self::Permuted(permutation) => permutation.get(position),
            Self::Drawn(draws) => draws.get(position),
        }
    }

    /// The row numbers at these positions. All positions must be less than the length.
    pub fn get_all(&self, positions: Range<u64>) -> Vec<u64> {
        match self {
            Self::Permuted(permutation) => permutation.get_all(positions),
            Self::Drawn(draws) => positions.map(|position| draws.get(position)).collect(),
        }
    }
}

/// The weights of rows, as cumulative sums. They take 8 bytes per row.
#[derive(Debug)]
pub struct Weights(Tensor);

impl Weights {
    /// `ends` has the sum of the weights up to and including each row. None of the sums may be less
    /// than the one before, and unless there are no rows, the last must be positive and finite.
    pub fn new(ends: Tensor) -> Result<Self> {
        let sums: &[f64] = ends.values()?;
        let is_valid = sums.is_sorted() && sums.first().is_none_or(|first| *first >= 0.0);
        if !is_valid || !sums.last().is_none_or(|total| *total > 0.0 && total.is_finite()) {
            return Err(Error::internal("the sums of weights must be ascending, and the last one positive"));
        }
        Ok(Self(ends))
    }

    /// The number of rows.
    pub fn len(&self) -> u64 {
        self.ends().len() as u64
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends().is_empty()
    }

    /// The memory that they use.
    pub fn num_bytes(&self) -> usize {
        size_of_val(self.ends())
    }

    fn ends(&self) -> &[f64] {
        // `new` has checked the type.
        self.0.values().unwrap_or_default()
    }

    fn total(&self) -> f64 {
        self.ends().last().copied().unwrap_or_default()
    }

    /// The total weight of the first `count` rows.
    fn before(&self, count: u64) -> f64 {
        (count as usize).checked_sub(1).map_or(0.0, |last| self.ends()[last.min(self.ends().len() - 1)])
    }

    /// The row whose range of sums contains `sum`. Rows without weight have an empty range.
    fn find(&self, sum: f64) -> u64 {
        let ends = self.ends();
        let row = ends.partition_point(|end| *end <= sum);
        match row < ends.len() {
            true => row as u64,
            // Rounding made `sum` as large as the total.
            false => ends.partition_point(|end| *end < self.total()) as u64,
        }
    }
}

/// Which rows have the weights: every `step`-th, starting with number `first`.
#[derive(Clone, Copy, Debug)]
pub struct WeightedRows {
    /// The number of all rows.
    pub num_rows: u64,
    /// The first row with a weight.
    pub first: u64,
    /// The distance to the next one, at least 1.
    pub step: u64,
    /// The row of the last weight, if it is another one.
    pub last: Option<u64>,
}

/// Draws of rows with replacement.
#[derive(Debug)]
pub struct Draws {
    weights: Arc<Weights>,
    rows: WeightedRows,
    num_draws: u64,
    random: Philox,
}

impl Draws {
    /// Draws `num_draws` rows for a pair of seeds. There must be weights, unless there are no
    /// draws.
    ///
    /// Several shards of the same rows draw different numbers.
    pub fn new(weights: Arc<Weights>, rows: WeightedRows, num_draws: u64, seed: u64, pass: u64) -> Self {
        let seed = if rows.step == 1 { seed } else { mix(seed, rows.first + 1) };
        Self { weights, rows, num_draws, random: Philox::new(seed.cast_signed(), pass.cast_signed()) }
    }

    /// The row number of draw `position`.
    fn get(&self, position: u64) -> u64 {
        let [low, high, ..] = self.random.block_at(position);
        let bits = u64::from(high) << 32 | u64::from(low);
        // 53 bits make a fraction of 1.
        let fraction = (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
        let index = self.weights.find(fraction * self.weights.total());
        match self.rows.last {
            Some(last) if index + 1 == self.weights.len() => last,
            _ => self.rows.first + index * self.rows.step,
        }
    }

    /// The share of the draws that is expected to draw these rows.
    pub fn expected_share(&self, rows: Range<u64>) -> f64 {
        let index = |row: u64| row.saturating_sub(self.rows.first).div_ceil(self.rows.step).min(self.weights.len());
        let total = self.weights.total();
        if total > 0.0 {
            (self.weights.before(index(rows.end)) - self.weights.before(index(rows.start))) / total
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::tensor::shape::Shape;

    const ALL: WeightedRows = WeightedRows { num_rows: 5, first: 0, step: 1, last: None };

    fn weights(weights: &[f64]) -> Arc<Weights> {
        let sums: Vec<_> = weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        Arc::new(Weights::new(Tensor::from_values(Shape::new(&[sums.len()]), sums).unwrap()).unwrap())
    }

    fn drawn(of: &[f64], rows: WeightedRows, num_draws: u64, seed: u64, pass: u64) -> Vec<u64> {
        RowOrder::Drawn(Draws::new(weights(of), rows, num_draws, seed, pass)).get_all(0..num_draws)
    }

    /// The chi-square statistic with 2 degrees of freedom. Its 0.9999 quantile is 18.4.
    #[test]
    fn draw_frequencies_match_the_weights() {
        const COUNT: u64 = 100_000;
        let of = [1.0, 0.0, 3.0, 0.0, 6.0];
        let mut counts = [0.0; 5];
        drawn(&of, ALL, COUNT, 7, 0).into_iter().for_each(|row| counts[row as usize] += 1.0);
        assert_eq!([counts[1], counts[3]], [0.0; 2]);
        let expected = |weight: f64| COUNT as f64 * weight / 10.0;
        let statistic: f64 =
            [0, 2, 4].map(|row| (counts[row] - expected(of[row])).powi(2) / expected(of[row])).iter().sum();
        assert!(statistic < 18.4, "{counts:?}");
    }

    #[test]
    fn draws_depend_on_the_seed_the_pass_and_the_shard() {
        let of = [1.0; 5];
        let first = drawn(&of, ALL, 100, 1, 2);
        assert_eq!(drawn(&of, ALL, 200, 1, 2)[..100], first[..]);
        let shard = WeightedRows { first: 1, step: 2, ..ALL };
        let of_shard: Vec<_> = drawn(&of, shard, 100, 1, 2).iter().map(|row| (row - 1) / 2).collect();
        for other in [drawn(&of, ALL, 100, 1, 3), drawn(&of, ALL, 100, 2, 2), of_shard] {
            assert_ne!(other, first);
        }
    }

    #[test]
    fn only_the_rows_of_a_shard_are_drawn() {
        let mut rows = drawn(&[1.0, 1.0, 1.0], WeightedRows { first: 1, step: 2, last: Some(2), ..ALL }, 100, 1, 0);
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows, [1, 2, 3]);
    }

    #[test]
    fn largest_sum_belongs_to_the_last_row_with_a_weight() {
        let weights = weights(&[0.0, 2.0, 0.0, 1.0, 0.0]);
        assert_eq!([0.0, 1.99, 2.0, 2.99, 3.0].map(|sum| weights.find(sum)), [1, 1, 3, 3, 3]);
    }

    #[test]
    fn shares_are_proportional_to_the_weights() {
        let draws = Draws::new(weights(&[1.0, 0.0, 3.0]), WeightedRows { first: 1, step: 2, ..ALL }, 0, 1, 0);
        assert_eq!([0..2, 0..4, 2..6, 0..6].map(|rows| draws.expected_share(rows)), [0.25, 0.25, 0.75, 1.0]);
    }

    #[test]
    fn sums_must_be_ascending_and_the_last_one_positive() {
        for sums in [vec![0.0], vec![2.0, 1.0], vec![-1.0, 1.0], vec![f64::NAN], vec![1.0, f64::INFINITY]] {
            let tensor = Tensor::from_values(Shape::new(&[sums.len()]), sums).unwrap();
            assert!(Weights::new(tensor).is_err());
        }
    }
}
