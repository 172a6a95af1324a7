//! What the results of a step take, as far as it is known from those that came before.

use crate::pipeline::blocks::rows::Rows;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A task gets at most so many times the rows of the largest before it: the first rows may tell little of the others. The
/// first tasks get one.
const GROWTH: usize = 8;
/// While nobody knows what results take, they are expected to take so many times what their rows take: an image does, once
/// it is decoded.
const FIRST_TIMES: usize = 16;
/// The results of a task take so much, unless those of a single row take more.
const TASK_BYTES: usize = 1 << 20;
const LEAST_TASK_BYTES: usize = 64 << 10;
/// The same, as a part of the budget.
const PART_OF_BUDGET: usize = 64;

/// The sizes of results of one step, of all passes. Clones are the same. No batch depends on it: it says how many rows go
/// into a task, and whether the task has to wait.
#[derive(Clone, Debug, Default)]
pub struct SizeEstimate(Arc<Sizes>);

/// Written by whoever ends a task, and read by the node; 0 before the first.
#[derive(Debug, Default)]
struct Sizes {
    /// What the result of a task takes.
    task_bytes: AtomicUsize,
    /// What that of one of its rows takes.
    row_bytes: AtomicUsize,
    /// How many rows the largest task had.
    most_rows: AtomicUsize,
}

impl SizeEstimate {
    /// How much the results of a task may take, of a budget of `limit_bytes`.
    pub fn wanted_bytes(limit_bytes: usize) -> usize {
        (limit_bytes / PART_OF_BUDGET).clamp(LEAST_TASK_BYTES, TASK_BYTES)
    }

    /// Adds that so many rows have become something that takes `num_bytes`.
    pub fn add(&self, num_rows: usize, num_bytes: usize) {
        raise(&self.0.task_bytes, num_bytes);
        raise(&self.0.row_bytes, num_bytes.div_ceil(num_rows.max(1)));
        self.0.most_rows.fetch_max(num_rows, Ordering::Relaxed);
    }

    /// What the result of a task takes; `None` if nobody knows yet.
    pub fn task_bytes(&self) -> Option<usize> {
        Some(self.0.task_bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    /// How many of these rows go into a task whose results are to take `wanted_bytes`: about as many into each.
    pub fn part_of(&self, rows: &Rows, wanted_bytes: usize) -> usize {
        let most = match self.0.row_bytes.load(Ordering::Relaxed) {
            0 => 1,
            row_bytes => (wanted_bytes / row_bytes).clamp(1, GROWTH * self.0.most_rows.load(Ordering::Relaxed).max(1)),
        };
        rows.len().div_ceil(rows.len().div_ceil(most).max(1))
    }

    /// What the result of a task takes that has so many of these rows.
    pub fn bytes_of(&self, num_rows: usize, rows: &Rows) -> usize {
        match self.0.row_bytes.load(Ordering::Relaxed) {
            0 => rows.num_bytes() / rows.len().max(1) * num_rows * FIRST_TIMES,
            row_bytes => row_bytes.saturating_mul(num_rows),
        }
    }
}

/// Raises what is expected at once, and lowers it slowly.
fn raise(known: &AtomicUsize, num_bytes: usize) {
    let before = known.load(Ordering::Relaxed);
    known.store(num_bytes.max(before - before / 8).max(1), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::blocks::block::{Block, Provenance};
    use crate::pipeline::blocks::column::Column;
    use crate::tensor::Tensor;
    use crate::tensor::shape::Shape;

    fn rows(count: usize) -> Rows {
        let tensor = Tensor::from_values(Shape::new(&[count]), vec![0_u8; count]).unwrap();
        Rows::all(Block::new(vec![Column::Dense(tensor)], count, Provenance::Unknown).unwrap())
    }

    #[test]
    fn tasks_get_one_row_before_it_is_known_what_their_results_take_and_then_more_and_more() {
        let size_estimate = SizeEstimate::default();
        assert_eq!(size_estimate.part_of(&rows(1000), 1 << 20), 1);
        assert_eq!((size_estimate.task_bytes(), size_estimate.bytes_of(10, &rows(1000))), (None, 160));
        size_estimate.add(1, 10);
        assert_eq!(size_estimate.part_of(&rows(1000), 1 << 20), 8);
        size_estimate.add(8, 80);
        assert_eq!(size_estimate.part_of(&rows(1000), 1 << 20), 63);
    }

    #[test]
    fn tasks_get_as_many_rows_as_their_results_may_take() {
        let size_estimate = SizeEstimate::default();
        size_estimate.add(10, 1000);
        assert_eq!((size_estimate.part_of(&rows(1000), 5000), size_estimate.part_of(&rows(1000), 5)), (50, 1));
        assert_eq!(size_estimate.part_of(&rows(70), 5000), 35);
        assert_eq!((size_estimate.task_bytes(), size_estimate.bytes_of(3, &rows(5))), (Some(1000), 300));
    }

    #[test]
    fn what_is_expected_rises_at_once_and_falls_slowly() {
        let size_estimate = SizeEstimate::default();
        [800, 80].into_iter().for_each(|num_bytes| size_estimate.add(1, num_bytes));
        assert_eq!(size_estimate.task_bytes(), Some(700));
        size_estimate.add(1, 9000);
        assert_eq!(size_estimate.task_bytes(), Some(9000));
    }

    #[test]
    fn the_size_of_a_task_is_a_part_of_the_budget() {
        assert_eq!([0, 16 << 20, usize::MAX].map(SizeEstimate::wanted_bytes), [64 << 10, 256 << 10, 1 << 20]);
    }
}
