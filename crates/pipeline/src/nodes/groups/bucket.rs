//! Groups rows of similar lengths into batches.

use crate::blocks::block::Block;
use crate::blocks::column::{Axes, widen};
use crate::nodes::groups::group_by::{Group, Grouping, Waits};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use headrace_engine::error::Result;
use std::collections::VecDeque;

/// The rules for grouping rows by length.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// The column whose length determines the bucket.
    pub column: usize,
    /// The maximum length of each bucket except the last, in ascending order.
    pub boundaries: Vec<usize>,
    /// The number of rows in a batch.
    pub size: Option<usize>,
    /// The maximum number of elements in a padded batch of more than one row.
    pub max_elements: Option<usize>,
    /// True if rows are padded to the boundary of their bucket rather than to the longest row of
    /// their batch.
    pub pads_to_boundary: bool,
    /// True if incomplete batches at the end are dropped.
    pub drops_remainder: bool,
}

impl Buckets {
    /// The bucket for rows of this length.
    fn of(&self, length: usize) -> usize {
        self.boundaries.partition_point(|boundary| *boundary < length)
    }

    /// The length to which rows of this bucket are padded if the longest has length `longest`.
    fn width(&self, bucket: usize, longest: usize) -> usize {
        match self.boundaries.get(bucket) {
            Some(boundary) if self.pads_to_boundary => *boundary,
            _ => longest,
        }
    }

    /// Returns true if this many rows, padded to these axes, have too many elements.
    fn are_too_many(&self, bucket: usize, axes: &Axes, num_rows: usize) -> bool {
        let longest = axes.first().copied().unwrap_or(1);
        let row = axes.iter().skip(1).fold(self.width(bucket, longest), |product, axis| product.saturating_mul(*axis));
        self.max_elements.is_some_and(|most| row.saturating_mul(num_rows) > most)
    }

    /// True if the batch is full.
    fn are_full(&self, bucket: usize, filling: &Filling) -> bool {
        let num_rows = filling.group.rows.len();
        self.size == Some(num_rows) || self.are_too_many(bucket, &filling.axes, num_rows + 1)
    }
}

/// A batch that is being filled.
#[derive(Debug, Default)]
struct Filling {
    group: Group,
    /// The largest size of each axis of its rows.
    axes: Axes,
}

/// Groups rows of similar lengths. The length of a group is the length of its longest row.
pub struct Bucketing {
    buckets: Buckets,
    filling: Vec<Filling>,
}

impl Bucketing {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: false,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: false,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::None,
    };

    /// Groups rows into these buckets.
    pub fn new(buckets: Buckets) -> Self {
        let filling = (0..=buckets.boundaries.len()).map(|_| Filling::default()).collect();
        Self { buckets, filling }
    }
}

impl Grouping for Bucketing {
    const WORD: &'static str = "batch";

    type Size = Axes;

    fn size(&self, block: &Block, row: usize, _number: u64) -> Result<Option<Axes>> {
        Ok(Some(block.columns[self.buckets.column].row_axes(row)))
    }

    fn add(&mut self, row: Waits, size: Axes, _note: Option<u64>, whole: &mut VecDeque<Group>) -> Result<()> {
        let bucket = self.buckets.of(size.first().copied().unwrap_or(1));
        let filling = &mut self.filling[bucket];
        let mut axes = filling.axes.clone();
        widen(&mut axes, 0, &size);
        if !filling.group.rows.is_empty() && self.buckets.are_too_many(bucket, &axes, filling.group.rows.len() + 1) {
            whole.push_back(std::mem::take(filling).group);
        }
        widen(&mut filling.axes, 0, &size);
        filling.group.length = filling.axes.first().copied().unwrap_or(1);
        filling.group.rows.push(row);
        if self.buckets.are_full(bucket, filling) {
            whole.push_back(std::mem::take(filling).group);
        }
        Ok(())
    }

    fn open(&self) -> impl Iterator<Item = (u64, &Group)> {
        (0..).zip(self.filling.iter().map(|filling| &filling.group))
    }

    fn size_of(&self, group: &Group) -> usize {
        self.buckets.size.unwrap_or(group.rows.len())
    }

    fn finish(&mut self) -> Vec<Group> {
        let left = std::mem::take(&mut self.filling);
        if self.buckets.drops_remainder { Vec::new() } else { left.into_iter().map(|filling| filling.group).collect() }
    }
}
