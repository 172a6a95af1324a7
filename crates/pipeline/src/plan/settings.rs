//! Settings that all passes over a plan share.

use crate::blocks::block::Pass;
use crate::blocks::row_id::Path;
use crate::node::Position;
use crate::nodes::disk_cache::store::Use;
use crate::nodes::sources::indexed::Batches;
use crate::plan::Step;
use headrace_engine::philox::mix;

/// The settings shared by all passes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of workers.
    pub num_threads: usize,
    /// True if results may come in the order in which tasks end.
    pub(super) in_any_order: bool,
    /// The branch of this pipeline among combined ones, as a number for the path to it.
    pub(super) branch: u64,
    /// The same path, part by part.
    pub(super) path: Path,
    /// The number of the stage whose nodes are created.
    pub(super) stage: usize,
    /// The number of the later `skip_errors` stage that handles failures, if there is one.
    pub(super) skipper: Option<usize>,
    /// True for a part of a zip as long as each row, or skipped row, has its place among those of
    /// the other parts.
    pub(super) is_aligned: bool,
    /// True if nodes poll for rows, and begin tasks, only when their results are requested.
    pub(super) synchronous: bool,
    /// True if nothing is measured.
    pub(super) is_uncounted: bool,
    /// True if there are more passes over the same input.
    pub(super) is_repeated: bool,
    /// Set in passes over a shard: the number of shards when the checkpoint was created. Their rows
    /// are counted while they are skipped.
    pub(super) old_shards: Option<u64>,
    /// The number of files that are open at the same time as a single file, including it.
    pub(super) num_files: usize,
    /// True if batches remember the records that they are built from.
    pub(super) keeps_origins: bool,
    /// The batches that are built from the rows, one for one.
    pub(super) batches: Option<Batches>,
    /// True if the next step holds rows of the source's blocks, and returns them in another order.
    pub(super) is_mixed: bool,
}

impl Settings {
    /// Settings for `num_threads` workers, in order. Nothing is measured outside `Plan::Meter`.
    pub fn new(num_threads: usize) -> Self {
        Self {
            num_threads,
            in_any_order: false,
            branch: 0,
            path: Path::default(),
            stage: usize::MAX,
            skipper: None,
            is_aligned: false,
            synchronous: false,
            is_uncounted: false,
            is_repeated: false,
            old_shards: None,
            num_files: 1,
            keeps_origins: false,
            batches: None,
            is_mixed: false,
        }
    }

    /// With `is_synchronous`, nodes poll for rows, and begin tasks, only when their results are
    /// requested, one at a time: functions are called exactly as if one thread did everything.
    pub fn with_synchronous(self, is_synchronous: bool) -> Self {
        Self { synchronous: self.synchronous || is_synchronous, ..self }
    }

    /// With `is_replay`, earlier rows are computed again: synchronously, and without measurements.
    pub(super) fn replaying(self, is_replay: bool) -> Self {
        Self { is_uncounted: self.is_uncounted || is_replay, ..self.with_synchronous(is_replay) }
    }

    /// The settings that cached rows depend on.
    pub(super) fn cached(self) -> Use {
        Use { skipper: self.skipper, is_aligned: self.is_aligned, in_any_order: self.in_any_order }
    }

    /// Settings for rows that do not reach the next step in the blocks of the source.
    pub(super) fn unmixed(self) -> Self {
        Self { is_mixed: false, ..self }
    }

    pub(super) fn synchronous(self) -> bool {
        self.synchronous
    }

    /// With `keeps_origins`, batches remember the records that they are built from.
    pub fn with_origins(self, keeps_origins: bool) -> Self {
        Self { keeps_origins, ..self }
    }

    /// With `in_any_order`, results may come in the order in which tasks end.
    pub fn in_any_order(self, in_any_order: bool) -> Self {
        Self { in_any_order, ..self }
    }

    /// Settings for the input of a step.
    pub(super) fn before(self, step: &Step) -> Self {
        let is_mixed = matches!(step, Step::Window { .. } | Step::Bucket(_) | Step::Pack(_));
        Self { batches: step.facts().batches.of(self.batches), is_mixed, ..self }.through(step)
    }

    /// Settings for a step and its input.
    pub(super) fn through(self, step: &Step) -> Self {
        if step.facts().is_one_to_one { self } else { self.unaligned() }
    }

    /// Settings for rows that have no place among those of the other parts of a zip. None of them
    /// may be skipped separately: later rows would get other partners.
    pub(super) fn unaligned(self) -> Self {
        Self { skipper: self.skipper.filter(|_| !self.is_aligned), is_aligned: false, ..self }
    }

    /// Settings for stage number `stage`.
    pub(super) fn of_stage(self, stage: usize) -> Self {
        Self { stage: if self.is_uncounted { usize::MAX } else { stage }, ..self }
    }

    /// Settings for the stages before stage number `stage`, which skips failures.
    pub(super) fn errors_skipped_by(self, stage: usize) -> Self {
        Self { skipper: Some(stage), is_aligned: false, ..self }
    }

    /// Settings for passes over one of several shards.
    pub(super) fn over_shards(self, old_shards: Option<u64>) -> Self {
        Self { old_shards, ..self }
    }

    /// Settings for single files, with this many open at once.
    pub(super) fn among_files(self, num_files: usize) -> Self {
        Self { num_files, ..self }
    }

    /// The position of a node in pass `pass`, `distance` steps away from the consumer.
    pub(super) fn position(self, pass: u64, distance: usize) -> Position {
        let Self { stage, skipper, synchronous, keeps_origins, is_mixed, .. } = self;
        Position { pass: self.pass(pass), distance, stage, skipper, keeps_origins, synchronous, is_mixed }
    }

    /// Settings for part `index` of combined pipelines.
    pub(super) fn part(self, index: usize) -> Self {
        self.part_called(index, index as u64)
    }

    /// Settings for part `index` of a zip. Its rows have the same position in all parts.
    pub(super) fn part_of_zip(self, index: usize) -> Self {
        Self { is_aligned: true, in_any_order: false, ..self.part(index) }
    }

    /// Settings for part `index` of combined pipelines, which have distinct numbers.
    pub(super) fn part_called(self, index: usize, id: u64) -> Self {
        Self { branch: mix(self.branch, id.wrapping_add(1)), path: self.path.part(index), batches: None, ..self }
    }

    pub(super) fn pass(self, number: u64) -> Pass {
        Pass { number, branch: self.branch, path: self.path }
    }

    /// The number of tasks of one kind that are begun before their results are requested.
    pub(super) fn ahead(self) -> usize {
        2 * self.num_threads + 2
    }
}
