//! Orders rows so that each run of a fixed number of rows has one key.

use crate::blocks::block::Block;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll};
use crate::nodes::groups::group_by::{Group, Grouping, Waits};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use headrace_engine::error::{Error, Result};
use std::collections::VecDeque;

/// The rules for ordering rows in runs.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// The column with the keys, which are int32 scalars from 0.
    pub column: usize,
    /// The number of different keys.
    pub num_keys: usize,
    /// The number of rows in a run, at least 1.
    pub num_rows: usize,
}

/// Collects the rows of each run. Rows that don't fill a run at the end are dropped.
pub struct Collecting {
    runs: Runs,
    /// The number of rows in a run until all groups are skipped. Differs after a resume with a
    /// different number.
    num_rows_before: usize,
    filling: Vec<Group>,
    num_left_out: usize,
}

impl Collecting {
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

    /// Collects runs. The runs that are skipped first have `num_rows_before` rows in total.
    pub fn new(runs: Runs, num_rows_before: usize) -> Self {
        let filling = (0..runs.num_keys).map(|_| Group::default()).collect();
        Self { runs, num_rows_before, filling, num_left_out: 0 }
    }
}

impl Grouping for Collecting {
    const WORD: &'static str = "run of examples";

    type Size = usize;

    fn size(&self, block: &Block, row: usize, _number: u64) -> Result<Option<usize>> {
        let key = block.columns[self.runs.column].row(row)?;
        let key = key.values::<i32>()?.first().and_then(|key| usize::try_from(*key).ok());
        match key {
            Some(key) if key < self.filling.len() => Ok(Some(key)),
            _ => Err(Error::internal("a row has no valid key")),
        }
    }

    fn add(&mut self, row: Waits, key: usize, _tag: Option<u64>, whole: &mut VecDeque<Group>) -> Result<()> {
        let filling = &mut self.filling[key];
        filling.rows.push(row);
        if filling.rows.len() >= self.num_rows_before {
            whole.push_back(std::mem::take(filling));
        }
        Ok(())
    }

    fn open(&self) -> impl Iterator<Item = (u64, &Group)> {
        (0..).zip(&self.filling)
    }

    fn finish(&mut self) -> Vec<Group> {
        self.num_left_out = self.filling.drain(..).map(|group| group.rows.len()).sum();
        Vec::new()
    }

    fn size_of(&self, _group: &Group) -> usize {
        self.num_rows_before
    }

    fn num_left_out(&self) -> usize {
        self.num_left_out
    }

    fn is_changing(&self) -> bool {
        self.num_rows_before != self.runs.num_rows
    }

    fn change(&mut self, whole: &mut VecDeque<Group>) -> Result<()> {
        self.num_rows_before = self.runs.num_rows;
        let groups = self.filling.iter_mut().enumerate();
        let mut waiting: Vec<_> =
            groups.flat_map(|(key, group)| std::mem::take(group).rows.into_iter().map(move |row| (row, key))).collect();
        // Adds them as if they arrived again, in order.
        waiting.sort_unstable_by_key(|((number, _), _)| *number);
        waiting.into_iter().try_for_each(|(row, key)| self.add(row, key, None, whole))
    }
}

/// Returns the rows of runs one after the other.
pub struct InRuns {
    runs: Box<dyn Node>,
    num_rows: u64,
}

impl InRuns {
    /// Returns the rows of a node that groups them in runs of `num_rows` rows.
    pub fn new(runs: Box<dyn Node>, num_rows: usize) -> Self {
        Self { runs, num_rows: num_rows as u64 }
    }
}

impl Node for InRuns {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        Ok(match self.runs.pull(context)? {
            Poll::Ready(rows) => {
                let run = rows.checkpoint(0);
                let checkpoint = Checkpoint::new([self.num_rows], [run]);
                Poll::Ready(rows.in_group(None).with_checkpoint(checkpoint))
            }
            poll => poll,
        })
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.runs.replay_skipped(context)
    }
}
