//! Settings that all passes over a plan share.

use crate::philox::mix;
use crate::pipeline::blocks::block::Pass;
use crate::pipeline::node::Position;

/// What all passes have in common.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many workers there are.
    pub num_threads: usize,
    /// Whether what is done first may come first.
    pub(super) in_any_order: bool,
    /// Which of the pipelines that were put together this is, as a number for the path to it.
    pub(super) branch: u64,
    /// The number of the stage whose nodes are made.
    pub(super) stage: usize,
    /// The number of the stage behind them that lets failures be left out, if there is one.
    pub(super) skipper: Option<usize>,
    /// Whether nodes ask for rows, and begin tasks, only when their results are wanted.
    pub(super) in_step: bool,
    /// Whether nothing is counted.
    pub(super) is_uncounted: bool,
    /// Whether there are more passes over the same.
    pub(super) is_repeated: bool,
    /// Set within passes over a shard: how many shards there were where the checkpoint was made. Their rows are counted while
    /// they are skipped.
    pub(super) old_shards: Option<u64>,
}

impl Settings {
    /// For so many workers, in order. Nothing is counted outside of [`Plan::Metered`].
    pub fn new(num_threads: usize) -> Self {
        Self {
            num_threads,
            in_any_order: false,
            branch: 0,
            stage: usize::MAX,
            skipper: None,
            in_step: false,
            is_uncounted: false,
            is_repeated: false,
            old_shards: None,
        }
    }

    /// With `is_in_step`, nodes ask for rows, and begin tasks, only when their results are wanted, one at a time: no function
    /// is called that was not called if all were done by one thread.
    pub fn with_steps(self, is_in_step: bool) -> Self {
        Self { in_step: self.in_step || is_in_step, ..self }
    }

    /// With `is_again`, rows are made again that were given before: in step, and nothing is counted.
    pub(super) fn again(self, is_again: bool) -> Self {
        Self { is_uncounted: self.is_uncounted || is_again, ..self.with_steps(is_again) }
    }

    pub(super) fn in_step(self) -> bool {
        self.in_step
    }

    /// With `in_any_order`, what is done first may come first.
    pub fn in_any_order(self, in_any_order: bool) -> Self {
        Self { in_any_order, ..self }
    }

    /// For stage number `stage`.
    pub(super) fn of_stage(self, stage: usize) -> Self {
        Self { stage: if self.is_uncounted { usize::MAX } else { stage }, ..self }
    }

    /// For what comes before stage number `stage`, which lets failures be left out.
    pub(super) fn covered_by(self, stage: usize) -> Self {
        Self { skipper: Some(stage), ..self }
    }

    /// For passes over one of several shards.
    pub(super) fn over_shards(self, old_shards: Option<u64>) -> Self {
        Self { old_shards, ..self }
    }

    /// Where a node stands that belongs to pass `pass`, so many steps away from the consumer.
    pub(super) fn position(self, pass: u64, distance: usize) -> Position {
        Position { pass: self.pass(pass), distance, stage: self.stage, skipper: self.skipper, in_step: self.in_step }
    }

    /// For part `index` of pipelines that are put together.
    pub(super) fn part(self, index: usize) -> Self {
        Self { branch: mix(self.branch, index as u64 + 1), ..self }
    }

    pub(super) fn pass(self, number: u64) -> Pass {
        Pass { number, branch: self.branch }
    }

    /// How many tasks of one kind are begun before their results are wanted.
    pub(super) fn ahead(self) -> usize {
        2 * self.num_threads + 2
    }
}
