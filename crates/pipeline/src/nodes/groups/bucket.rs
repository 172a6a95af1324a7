//! Groups rows of similar lengths into batches.

use crate::blocks::block::Block;
use crate::nodes::groups::group_by::{Group, Grouping, Waits};
use headrace_engine::error::Result;
use std::collections::VecDeque;

/// The rules for grouping rows by length.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// The column whose lengths decide.
    pub column: usize,
    /// The longest length of each bucket but the last, ascending.
    pub boundaries: Vec<usize>,
    /// The number of rows in a batch.
    pub size: Option<usize>,
    /// The largest number of elements of the column in a padded batch, unless it is a single row.
    pub max_elements: Option<usize>,
    /// True if rows are padded to the boundary of their bucket rather than to the longest of their
    /// batch.
    pub pads_to_boundary: bool,
    /// True if incomplete batches at the end are dropped.
    pub drops_remainder: bool,
}

impl Buckets {
    /// The number of the bucket for rows of this length.
    fn of(&self, length: usize) -> usize {
        self.boundaries.partition_point(|boundary| *boundary < length)
    }

    /// The padded length of rows of this bucket whose longest is `longest`.
    fn width(&self, bucket: usize, longest: usize) -> usize {
        match self.boundaries.get(bucket) {
            Some(boundary) if self.pads_to_boundary => *boundary,
            _ => longest,
        }
    }

    /// True if this many rows, padded for `longest`, have too many elements.
    fn are_too_many(&self, bucket: usize, longest: usize, num_rows: usize) -> bool {
        let elements = self.width(bucket, longest).saturating_mul(num_rows);
        self.max_elements.is_some_and(|most| elements > most)
    }

    /// True if the group is full.
    fn are_full(&self, bucket: usize, group: &Group) -> bool {
        let num_rows = group.rows.len();
        self.size == Some(num_rows) || self.are_too_many(bucket, group.length, num_rows + 1)
    }
}

/// Batches of rows of similar lengths. The length of a group is the length of its longest row.
pub struct Bucketing {
    buckets: Buckets,
    filling: Vec<Group>,
}

impl Bucketing {
    /// A grouping by these buckets.
    pub fn new(buckets: Buckets) -> Self {
        let filling = (0..=buckets.boundaries.len()).map(|_| Group::default()).collect();
        Self { buckets, filling }
    }
}

impl Grouping for Bucketing {
    const WORD: &'static str = "batch";

    fn length(&self, block: &Block, row: usize) -> Result<Option<usize>> {
        Ok(Some(block.columns[self.buckets.column].row_length(row)))
    }

    fn add(&mut self, row: Waits, length: usize, _note: Option<u64>, whole: &mut VecDeque<Group>) -> Result<()> {
        let bucket = self.buckets.of(length);
        let group = &mut self.filling[bucket];
        let longest = group.length.max(length);
        if !group.rows.is_empty() && self.buckets.are_too_many(bucket, longest, group.rows.len() + 1) {
            whole.push_back(std::mem::take(group));
        }
        group.length = group.length.max(length);
        group.rows.push(row);
        if self.buckets.are_full(bucket, group) {
            whole.push_back(std::mem::take(group));
        }
        Ok(())
    }

    fn open(&self) -> impl Iterator<Item = (u64, &Group)> {
        (0..).zip(&self.filling)
    }

    fn finish(&mut self) -> Vec<Group> {
        let left = std::mem::take(&mut self.filling);
        if self.buckets.drops_remainder { Vec::new() } else { left }
    }
}
