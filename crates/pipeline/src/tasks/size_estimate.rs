//! Estimates the size of a step's results from earlier results.

use crate::blocks::rows::Rows;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A task gets at most this many times the rows of the largest earlier task, because the first rows
/// may not be representative. The first tasks get one row.
const GROWTH: usize = 8;
/// Until results are known, they are assumed to be this many times as large as their rows, as for a
/// decoded image.
const FIRST_TIMES: usize = 16;
/// The target size of a task's results, unless a single row is larger.
const TASK_BYTES: usize = 1 << 20;
const LEAST_TASK_BYTES: usize = 64 << 10;
/// The target size of the results of a Python task. Calling Python or sending a message to a worker
/// process takes as long as copying a megabyte.
const CALL_BYTES: usize = 4 << 20;
/// The longest time of a Python task. Short tasks keep all threads busy and let results arrive
/// steadily.
const TASK_TIME: Duration = Duration::from_millis(8);
/// The shortest time of a Python task, if there are enough rows, because each task has to call into
/// Python.
const LEAST_TASK_TIME: Duration = Duration::from_micros(500);
/// The time of a worker process's task. A message has to wake the process, and its answer has to
/// wake a thread.
const MESSAGE_TIME: Duration = Duration::from_millis(20);
/// The longest time that a task may take if its function runs faster on many rows at a time.
const GROUP_TIME: Duration = Duration::from_millis(500);
/// The maximum target size, as a fraction of the budget.
const PART_OF_BUDGET: usize = 64;
/// Like [`PART_OF_BUDGET`], for all threads of a function that runs faster on many rows at a time.
const PART_OF_BUDGET_FOR_GROUPS: usize = 16;
/// The largest target size for such a function.
const GROUP_BYTES: usize = 32 << 20;

/// The result sizes of one step over all passes. Clones share it. Batches do not depend on it. It
/// only determines how many rows go into a task and whether the task has to wait.
#[derive(Clone, Debug, Default)]
pub struct SizeEstimate(Arc<Sizes>);

/// Written by the thread that ends a task and read by the node. All values are 0 before the first
/// task.
#[derive(Debug, Default)]
struct Sizes {
    /// The size of one task's result.
    task_bytes: AtomicUsize,
    /// The size of the result for one row.
    row_bytes: AtomicUsize,
    /// The number of rows in the largest task.
    most_rows: AtomicUsize,
    /// The time that one row takes, in nanoseconds.
    row_ns: AtomicUsize,
    /// The memory that a task needs only while it runs.
    scratch_bytes: AtomicUsize,
}

impl SizeEstimate {
    /// The target size of a task's results for a budget of `limit_bytes`.
    pub fn target_bytes(limit_bytes: usize) -> usize {
        (limit_bytes / PART_OF_BUDGET).clamp(LEAST_TASK_BYTES, TASK_BYTES)
    }

    /// The target size of a Python task's results.
    pub fn target_bytes_of_call(limit_bytes: usize) -> usize {
        (limit_bytes / PART_OF_BUDGET).clamp(LEAST_TASK_BYTES, CALL_BYTES)
    }

    /// The target size of a task's results if its function runs faster on many rows at a time, in
    /// one of `num_threads` threads.
    pub fn target_bytes_of_group(limit_bytes: usize, num_threads: usize) -> usize {
        (limit_bytes / PART_OF_BUDGET_FOR_GROUPS / num_threads.max(1)).clamp(LEAST_TASK_BYTES, GROUP_BYTES)
    }

    /// Records a task in which `num_rows` rows produced a result of `num_bytes`.
    pub fn add(&self, num_rows: usize, num_bytes: usize) {
        raise(&self.0.task_bytes, num_bytes);
        raise(&self.0.row_bytes, num_bytes.div_ceil(num_rows.max(1)));
        self.0.most_rows.fetch_max(num_rows, Ordering::Relaxed);
    }

    /// Records how much memory a task needs only while it runs.
    pub fn add_scratch(&self, num_bytes: usize) {
        raise(&self.0.scratch_bytes, num_bytes);
    }

    /// The memory that a task needs only while it runs; 0 if this isn't known.
    pub fn scratch_bytes(&self) -> usize {
        self.0.scratch_bytes.load(Ordering::Relaxed)
    }

    /// Records how long `num_rows` rows took. Recent times count most, because the first call may
    /// have imported a library.
    pub fn add_time(&self, num_rows: usize, time: Duration) {
        let time = usize::try_from(time.as_nanos()).unwrap_or(usize::MAX).div_ceil(num_rows.max(1)).max(1);
        let mean = match self.0.row_ns.load(Ordering::Relaxed) {
            0 => time,
            before => before / 2 + time.div_ceil(2),
        };
        self.0.row_ns.store(mean, Ordering::Relaxed);
    }

    /// Returns the number of rows for a Python task with `num_threads` threads. The task has at
    /// most `part_of` rows, leaves some for each of the other threads, and takes at most a few
    /// milliseconds.
    pub fn part_for(&self, num_threads: usize, rows: &Rows, target_bytes: usize) -> usize {
        let most = self.part_of(rows, target_bytes);
        let share = rows.len().div_ceil(num_threads.max(1));
        most.min(self.rows_within(TASK_TIME)).min(share.max(self.rows_within(LEAST_TASK_TIME))).max(1)
    }

    /// Returns the number of rows for a message to a worker process. The work should take a while,
    /// but neither the rows nor their results should exceed `target_bytes`. The returned number may
    /// be larger than the number of rows.
    pub fn rows_of_message(&self, rows: &Rows, target_bytes: usize) -> usize {
        let row_bytes = rows.num_bytes() / rows.len().max(1);
        self.most_rows(target_bytes, row_bytes).min(self.rows_within(MESSAGE_TIME)).max(1)
    }

    /// Returns the number of rows for a task whose function runs faster on many rows at a time.
    /// The returned number may be larger than the number of rows.
    pub fn rows_of_group(&self, target_bytes: usize) -> usize {
        self.most_rows(target_bytes, 0).min(self.rows_within(GROUP_TIME)).max(1)
    }

    /// The number of rows for a task that takes at most this time.
    fn rows_within(&self, time: Duration) -> usize {
        let row_ns = self.0.row_ns.load(Ordering::Relaxed) as u128;
        usize::try_from(time.as_nanos() / row_ns.max(1)).unwrap_or(usize::MAX)
    }

    /// The number of rows for a task in which both the results and the rows, of `row_bytes` each,
    /// take at most `target_bytes`.
    fn most_rows(&self, target_bytes: usize, row_bytes: usize) -> usize {
        match self.0.row_bytes.load(Ordering::Relaxed) {
            0 => 1,
            of_result => (target_bytes / of_result.max(row_bytes))
                .clamp(1, GROWTH * self.0.most_rows.load(Ordering::Relaxed).max(1)),
        }
    }

    /// The size of a task's result, or `None` if it isn't known yet.
    pub fn task_bytes(&self) -> Option<usize> {
        Some(self.0.task_bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    /// The number of these rows to put into a task whose results should take `target_bytes`, so
    /// that all tasks are about equally large.
    pub fn part_of(&self, rows: &Rows, target_bytes: usize) -> usize {
        let most = self.most_rows(target_bytes, 0);
        rows.len().div_ceil(rows.len().div_ceil(most).max(1))
    }

    /// The estimated size of the result of a task with the first `num_rows` of these rows.
    pub fn bytes_of(&self, num_rows: usize, rows: &Rows) -> usize {
        match self.0.row_bytes.load(Ordering::Relaxed) {
            0 => rows.num_bytes() / rows.len().max(1) * num_rows * FIRST_TIMES,
            row_bytes => row_bytes.saturating_mul(num_rows),
        }
    }
}

/// Raises an estimate immediately and lowers it slowly.
fn raise(known: &AtomicUsize, num_bytes: usize) {
    let before = known.load(Ordering::Relaxed);
    known.store(num_bytes.max(before - before / 8).max(1), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::block::{Block, Provenance};
    use crate::blocks::column::Column;
    use headrace_engine::tensor::Tensor;
    use headrace_engine::tensor::shape::Shape;

    fn rows(count: usize) -> Rows {
        let tensor = Tensor::from_values(Shape::new(&[count]), vec![0_u8; count]).unwrap();
        Rows::all(Block::new(vec![Column::Dense(tensor)], count, Provenance::Unknown).unwrap())
    }

    #[test]
    fn first_task_has_one_row_and_later_ones_have_more() {
        let size_estimate = SizeEstimate::default();
        assert_eq!(size_estimate.part_of(&rows(1000), 1 << 20), 1);
        assert_eq!((size_estimate.task_bytes(), size_estimate.bytes_of(10, &rows(1000))), (None, 160));
        size_estimate.add(1, 10);
        assert_eq!(size_estimate.part_of(&rows(1000), 1 << 20), 8);
        size_estimate.add(8, 80);
        assert_eq!(size_estimate.part_of(&rows(1000), 1 << 20), 63);
    }

    #[test]
    fn tasks_have_as_many_rows_as_fit_the_target_size() {
        let size_estimate = SizeEstimate::default();
        size_estimate.add(10, 1000);
        assert_eq!((size_estimate.part_of(&rows(1000), 5000), size_estimate.part_of(&rows(1000), 5)), (50, 1));
        assert_eq!(size_estimate.part_of(&rows(70), 5000), 35);
        assert_eq!((size_estimate.task_bytes(), size_estimate.bytes_of(3, &rows(5))), (Some(1000), 300));
    }

    #[test]
    fn function_tasks_run_for_milliseconds_and_leave_rows_for_other_threads() {
        let estimate = SizeEstimate::default();
        assert_eq!(estimate.part_for(4, &rows(1000), 1 << 20), 1);
        estimate.add(1000, 1000);
        estimate.add_time(1000, Duration::from_millis(200));
        assert_eq!(estimate.part_for(4, &rows(1000), 1 << 20), 40);
        assert_eq!(estimate.part_for(4, &rows(100), 1 << 20), 25);
        assert_eq!(estimate.part_for(4, &rows(1000), 10), 10);
        assert_eq!(estimate.part_for(4, &rows(4), 1 << 20), 2);
        assert_eq!(estimate.part_for(1, &rows(1000), 1 << 20), 40);
        assert_eq!(estimate.part_for(1, &rows(20), 1 << 20), 20);
        estimate.add_time(1, Duration::from_secs(1));
        assert_eq!(estimate.part_for(4, &rows(1000), 1 << 20), 1);
    }

    #[test]
    fn messages_hold_enough_work_unless_rows_or_results_are_large() {
        let estimate = SizeEstimate::default();
        assert_eq!(estimate.rows_of_message(&rows(1000), 1 << 20), 1);
        estimate.add(1, 10);
        estimate.add_time(1, Duration::from_micros(50));
        assert_eq!(estimate.rows_of_message(&rows(1000), 1 << 20), 8);
        estimate.add(1000, 10_000);
        assert_eq!(estimate.rows_of_message(&rows(3), 1 << 20), 400);
        assert_eq!(
            (estimate.rows_of_message(&rows(3), 1000), estimate.rows_of_message(&Rows::new(), 1000)),
            (100, 100)
        );
        estimate.add_time(1, Duration::from_secs(1));
        assert_eq!(estimate.rows_of_message(&rows(1000), 1 << 20), 1);
        (0..12).for_each(|_| estimate.add_time(100, Duration::from_millis(5)));
        assert_eq!(estimate.rows_of_message(&rows(1000), 1 << 20), 116);
    }

    #[test]
    fn groups_are_limited_by_their_size_their_time_and_earlier_tasks() {
        let estimate = SizeEstimate::default();
        assert_eq!(estimate.rows_of_group(1 << 20), 1);
        estimate.add(1, 1000);
        estimate.add_time(1, Duration::from_millis(20));
        assert_eq!(estimate.rows_of_group(1 << 20), 8);
        estimate.add(8, 8000);
        assert_eq!((estimate.rows_of_group(1 << 20), estimate.rows_of_group(5000)), (25, 5));
        let targets = [(0, 1), (64 << 20, 2), (usize::MAX, 2)];
        let targets = targets.map(|(limit, threads)| SizeEstimate::target_bytes_of_group(limit, threads));
        assert_eq!(targets, [64 << 10, 2 << 20, 32 << 20]);
    }

    #[test]
    fn scratch_memory_follows_the_largest_recent_task() {
        let estimate = SizeEstimate::default();
        assert_eq!(estimate.scratch_bytes(), 0);
        estimate.add_scratch(800);
        estimate.add_scratch(80);
        assert_eq!(estimate.scratch_bytes(), 700);
    }

    #[test]
    fn messages_have_few_large_rows_even_if_their_results_are_small() {
        let estimate = SizeEstimate::default();
        estimate.add(1000, 1000);
        estimate.add_time(1000, Duration::from_millis(10));
        let tensor = Tensor::from_values(Shape::new(&[4, 100]), vec![0_u8; 400]).unwrap();
        let rows = Rows::all(Block::new(vec![Column::Dense(tensor)], 4, Provenance::Unknown).unwrap());
        assert_eq!(estimate.rows_of_message(&rows, 1000), 10);
    }

    #[test]
    fn estimate_rises_at_once_and_falls_slowly() {
        let size_estimate = SizeEstimate::default();
        [800, 80].into_iter().for_each(|num_bytes| size_estimate.add(1, num_bytes));
        assert_eq!(size_estimate.task_bytes(), Some(700));
        size_estimate.add(1, 9000);
        assert_eq!(size_estimate.task_bytes(), Some(9000));
    }

    #[test]
    fn target_size_is_a_fraction_of_the_budget() {
        let limits = [0, 16 << 20, usize::MAX];
        assert_eq!(limits.map(SizeEstimate::target_bytes), [64 << 10, 256 << 10, 1 << 20]);
        assert_eq!(limits.map(SizeEstimate::target_bytes_of_call), [64 << 10, 256 << 10, 4 << 20]);
    }
}
