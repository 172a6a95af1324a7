//! Settings that are shared by all passes over a plan.

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
    /// The number of worker threads.
    pub num_threads: usize,
    /// True if results may be returned in the order in which tasks finish.
    pub(super) in_any_order: bool,
    /// The branch of this pipeline among combined ones: a number derived from the path to it.
    pub(super) branch: u64,
    /// The same path, part by part.
    pub(super) path: Path,
    /// The number of the stage whose nodes are created.
    pub(super) stage: usize,
    /// The number of the later `skip_errors` stage that handles failures, if any.
    pub(super) skipper: Option<usize>,
    /// True within a part of a zip, as long as each row or skipped row corresponds to a row of the
    /// other parts.
    pub(super) is_aligned: bool,
    /// True if nodes poll for rows and begin tasks only when their results are requested.
    pub(super) synchronous: bool,
    /// True if nothing is measured.
    pub(super) is_uncounted: bool,
    /// True if further passes over the same input follow.
    pub(super) is_repeated: bool,
    /// For passes over a shard: the number of shards when the checkpoint was created. Their rows
    /// are counted while they are skipped.
    pub(super) old_shards: Option<u64>,
    /// The number of files open at the same time, including this one, if a single file is read.
    pub(super) num_files: usize,
    /// True if batches record which records they are built from.
    pub(super) keeps_origins: bool,
    /// The batches that are built one-to-one from the rows.
    pub(super) batches: Option<Batches>,
    /// True if the next step keeps rows of the source's blocks and returns them in a different
    /// order.
    pub(super) is_mixed: bool,
    /// The number of the lane, if there are several.
    pub(super) lane: usize,
}

impl Settings {
    /// Creates settings for `num_threads` worker threads, with results in order. Only parts of the
    /// plan within `Plan::Meter` are measured.
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
            lane: 0,
        }
    }

    /// Settings for one of several lanes.
    pub fn of_lane(self, lane: usize) -> Self {
        Self { lane, ..self }
    }

    /// If `is_synchronous`, nodes poll for rows and begin tasks one at a time, only when their
    /// results are requested. Functions are then called exactly as if a single thread did
    /// everything.
    pub fn with_synchronous(self, is_synchronous: bool) -> Self {
        Self { synchronous: self.synchronous || is_synchronous, ..self }
    }

    /// If `is_replay`, earlier rows are computed again, synchronously and without measurements.
    pub(super) fn replaying(self, is_replay: bool) -> Self {
        Self { is_uncounted: self.is_uncounted || is_replay, ..self.with_synchronous(is_replay) }
    }

    /// The settings that affect cached rows.
    pub(super) fn cached(self) -> Use {
        Use { skipper: self.skipper, is_aligned: self.is_aligned, in_any_order: self.in_any_order }
    }

    /// Settings for steps whose rows are copied into other blocks before the next step.
    pub(super) fn unmixed(self) -> Self {
        Self { is_mixed: false, ..self }
    }

    pub(super) fn synchronous(self) -> bool {
        self.synchronous
    }

    /// If `keeps_origins`, batches record which records they are built from.
    pub fn with_origins(self, keeps_origins: bool) -> Self {
        Self { keeps_origins, ..self }
    }

    /// If `in_any_order`, results may be returned in the order in which tasks finish.
    pub fn in_any_order(self, in_any_order: bool) -> Self {
        Self { in_any_order, ..self }
    }

    /// Settings for the input of a step.
    pub(super) fn before(self, step: &Step) -> Self {
        let is_mixed =
            matches!(step, Step::Window { .. } | Step::Bucket(_) | Step::Pack(_) | Step::PackTrees(_) | Step::Runs(_));
        Self { batches: step.facts().batches.of(self.batches), is_mixed, ..self }.through(step)
    }

    /// Settings for a step and its input together.
    pub(super) fn through(self, step: &Step) -> Self {
        match step {
            // A window needs all of its rows, in order.
            Step::Windows(_) => Self { skipper: None, in_any_order: false, ..self.unaligned() },
            _ if step.facts().is_one_to_one => self,
            _ => self.unaligned(),
        }
    }

    /// Settings for rows that don't correspond to rows of the other parts of a zip. None of them
    /// may be skipped separately, because later rows would get the wrong partners.
    pub(super) fn unaligned(self) -> Self {
        Self { skipper: self.skipper.filter(|_| !self.is_aligned), is_aligned: false, ..self }
    }

    /// Settings for stage `stage`.
    pub(super) fn of_stage(self, stage: usize) -> Self {
        Self { stage: if self.is_uncounted { usize::MAX } else { stage }, ..self }
    }

    /// Settings for the stages before stage `stage`, which skips their failures.
    pub(super) fn errors_skipped_by(self, stage: usize) -> Self {
        Self { skipper: Some(stage), is_aligned: false, ..self }
    }

    /// Settings for passes over one of several shards.
    pub(super) fn over_shards(self, old_shards: Option<u64>) -> Self {
        Self { old_shards, ..self }
    }

    /// Settings for single files, if `num_files` of them are open at the same time.
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

    /// Settings for part `index` of a zip, whose rows have the same position in all parts.
    pub(super) fn part_of_zip(self, index: usize) -> Self {
        Self { is_aligned: true, in_any_order: false, ..self.part(index) }
    }

    /// Settings for part `index` of combined pipelines that have distinct numbers.
    pub(super) fn part_called(self, index: usize, id: u64) -> Self {
        Self { branch: mix(self.branch, id.wrapping_add(1)), path: self.path.part(index), batches: None, ..self }
    }

    pub(super) fn pass(self, number: u64) -> Pass {
        Pass { number, branch: self.branch, path: self.path }
    }

    /// The number of tasks of one kind to begin before their results are requested.
    pub(super) fn ahead(self) -> usize {
        2 * self.num_threads + 2
    }
}
