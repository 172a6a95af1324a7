//! Plans: the engine's description of a pipeline, a tree from which each pass creates its nodes.

mod mix_checkpoint;
mod order_position;
mod pieces;
mod settings;
mod shuffle;
mod start;
mod step;

pub use pieces::{Blocks, PieceOptions};
pub use settings::Settings;

use crate::blocks::block::FileProvenance;
use crate::blocks::indexed::Indexed;
use crate::blocks::windows::Windowing;
use crate::checkpoint::Checkpoint;
use crate::function_states::FunctionStates;
use crate::index::{FilePiece, IndexFiles, KeptIndexes};
use crate::nodes::cache::Store;
use crate::nodes::disk_cache::store::DiskStore;
use crate::nodes::epochs::StatefulFunctions;
use crate::nodes::groups::batch::ShareIndex;
use crate::nodes::groups::bucket::Buckets;
use crate::nodes::groups::pack::Packing;
use crate::nodes::groups::pack_trees::TreePacking;
use crate::nodes::groups::runs::Runs;
use crate::nodes::groups::sizes::Sizes;
use crate::nodes::lanes::Lanes;
use crate::nodes::mixture::{StopWhen, Weights};
use crate::nodes::shard::Even;
use crate::order_digest::OrderDigest;
use crate::records::Format;
use crate::row_order;
use crate::stages::Stage;
use crate::stages::fetch::SharedLookup;
use crate::tasks::size_estimate::SizeEstimate;
use headrace_engine::sync::Mutex;
use std::sync::Arc;

/// A source, or a step with its input.
pub enum Plan {
    /// The records of files in a format.
    Files(Arc<dyn Format>, Arc<[Arc<FileProvenance>]>),
    /// The records of one of several files, selected by number, or of a piece of it.
    File(Arc<dyn Format>, Arc<[Arc<FileProvenance>]>, usize, Option<FilePiece>),
    /// Rows that can be read by number.
    Indexed(Arc<dyn Indexed>),
    /// Rows from the threads of a Python worker.
    PythonSource(usize),
    /// Several plans one after the other.
    Concat(Arc<[Arc<Plan>]>),
    /// Rows of several plans, drawn by weight.
    Mix(Arc<[Arc<Plan>]>, Mix),
    /// The rows of several plans side by side. If the flag is true, all plans must have the same
    /// number of rows.
    Zip(Arc<[Arc<Plan>]>, bool),
    /// All rows of a plan in a different order. Each of its steps must return one row per input
    /// row.
    Shuffled(Arc<Plan>, Shuffle),
    /// The pieces of a source. Several are open at the same time and return one row each in turn.
    Pieces(Arc<Plan>, PieceOptions),
    /// A step that processes the rows of a plan.
    Then(Arc<Plan>, Step),
    /// A plan that is measured as a stage. Its rows are counted if `counts_rows`.
    Meter {
        /// The plan.
        plan: Arc<Plan>,
        /// The number of the stage.
        stage: usize,
        /// True if its rows are counted.
        counts_rows: bool,
    },
}

/// How rows are drawn from several plans.
#[derive(Clone, Debug)]
pub struct Mix {
    /// The weights of the plans.
    pub weights: Weights,
    /// When the mixture ends.
    pub stop_when: StopWhen,
    /// The seed of the draws.
    pub seed: u64,
    /// The checkpoint at which the mixture resumes, in place of the first one that is not at its
    /// beginning. It is exactly at a row and does not depend on the earlier weights and parts.
    pub resumed: Arc<Mutex<Option<Checkpoint>>>,
}

impl Mix {
    /// Draws rows with weights that never change.
    pub fn new(weights: Vec<f64>, stop_when: StopWhen, seed: u64) -> Self {
        let weights = Weights { schedule: [(0, weights)].into(), ids: None, measured: None };
        Self { weights, stop_when, seed, resumed: Arc::default() }
    }
}

/// A shuffle of all rows.
#[derive(Clone)]
pub struct Shuffle {
    /// The seed of the order.
    pub seed: u64,
    /// The file indexes from earlier passes.
    pub kept: Arc<KeptIndexes>,
    /// The index files to read and write.
    pub index_files: Arc<IndexFiles>,
    /// Set if the shuffle returns row numbers and a later stage reads the rows. There must be no
    /// step between the shuffle and the source then.
    pub lookup: Option<Arc<SharedLookup>>,
    /// Set if rows are drawn with replacement instead of being permuted.
    pub sampling: Option<Sampling>,
}

/// How rows are drawn with replacement.
#[derive(Clone)]
pub struct Sampling {
    /// The weights of the rows of one shard, in order.
    pub weights: Arc<row_order::Weights>,
    /// The number of draws in a pass; `None` for the number of weights.
    pub num_draws: Option<u64>,
    /// The shard, as its first row and the number of shards.
    pub shard: (u64, u64),
    /// How the last rows are divided among the shards.
    pub even: Even,
}

impl Shuffle {
    /// Creates a shuffle without index files.
    pub fn new(seed: u64) -> Self {
        let (kept, index_files) = (Arc::new(KeptIndexes::default()), Arc::new(IndexFiles::none()));
        Self { seed, kept, index_files, lookup: None, sampling: None }
    }
}

/// A step of a pipeline.
#[derive(Clone)]
pub enum Step {
    /// Work for the worker pool.
    Map(Arc<[Arc<dyn Stage>]>, SizeEstimate),
    /// Work for the threads of a Python worker.
    MapPython {
        /// The number of the Python worker.
        python_worker: usize,
        /// True if it returns one row per input row and is stateless. Rows to be skipped are then
        /// skipped before it.
        is_one_to_one: bool,
        /// The number of threads.
        num_callers: usize,
        /// The number of functions it calls in sequence.
        num_functions: usize,
        /// True if the functions run in worker processes.
        in_processes: bool,
        /// True if the function runs faster on many rows at a time.
        in_groups: bool,
        /// The estimated size of its results.
        size_estimate: SizeEstimate,
    },
    /// Keeps this many rows at the beginning.
    Take(u64),
    /// Skips this many rows at the beginning.
    Skip(u64),
    /// Keeps every `count`-th row, starting with row `index`.
    Shard {
        /// The first row to keep.
        index: u64,
        /// The number of shards.
        count: u64,
        /// How the last rows are treated.
        even: Even,
        /// Replaces `index` by the shard of the lane, and shares the input among the lanes.
        lanes: Option<Arc<Lanes>>,
    },
    /// Keeps every `count`-th run of rows, starting with run `index`, counted from the beginning or
    /// the checkpoint.
    Share {
        /// The first run to keep.
        index: u64,
        /// The number of shares.
        count: u64,
        /// The number of rows in a run, at least 1.
        run: u64,
    },
    /// Draws the next row from a window of waiting rows.
    Window {
        /// The number of waiting rows.
        size: usize,
        /// The seed of the draws.
        seed: u64,
    },
    /// Makes windows of consecutive rows.
    Windows(Arc<Windowing>),
    /// Groups rows.
    Batch {
        /// The number of rows in a group.
        sizes: Sizes,
        /// True if an incomplete last group is dropped.
        drops_remainder: bool,
        /// Which of all shares' batches are built from these rows.
        share: ShareIndex,
    },
    /// Groups rows of similar lengths.
    Bucket(Arc<Buckets>),
    /// Groups rows whose lists together fill a length.
    Pack(Packing),
    /// Groups rows with the same id, whose prefix tree has a limited length.
    PackTrees(TreePacking),
    /// Orders rows so that each run of a fixed number of rows has one key.
    Runs(Runs),
    /// Keeps blocks after a whole pass. The input always runs as pass 0.
    Cache(Arc<Store>),
    /// Keeps blocks in a file after a whole pass. The input always runs as pass 0.
    CacheOnDisk(Arc<DiskStore>),
    /// Runs the passes `0..count`, or endless passes.
    Epochs(Option<u64>),
    /// Adds the rows of the global order to a digest.
    Digest(Arc<OrderDigest>),
    /// Skips rows for which an earlier stage failed. The number identifies the `skip_errors` stage.
    SkipErrors(usize),
}

impl Plan {
    /// Finds the Python workers whose functions keep a state. Stages before a cache always start
    /// with the states from the beginning of the iteration.
    pub(super) fn find_stateful_functions(
        &self,
        states: Option<&Arc<FunctionStates>>,
        functions: &mut StatefulFunctions,
    ) {
        match self {
            Self::Files(..) | Self::File(..) | Self::Indexed(_) | Self::PythonSource(_) => {}
            Self::Concat(inputs) => inputs.iter().for_each(|input| input.find_stateful_functions(states, functions)),
            Self::Mix(inputs, mix) => {
                functions.are_cut_short |= mix.stop_when == StopWhen::First;
                inputs.iter().for_each(|input| input.find_stateful_functions(states, functions));
            }
            Self::Zip(inputs, is_strict) => {
                let num_before = functions.python_workers.len();
                inputs.iter().for_each(|input| input.find_stateful_functions(states, functions));
                if !is_strict {
                    functions.are_cut_short = true;
                    functions.zipped.extend_from_slice(&functions.python_workers[num_before..]);
                }
            }
            Self::Shuffled(input, _) | Self::Pieces(input, _) => input.find_stateful_functions(states, functions),
            Self::Meter { plan, .. } => plan.find_stateful_functions(states, functions),
            Self::Then(input, step) => {
                let facts = step.facts();
                if facts.is_cache {
                    return;
                }
                let stateful =
                    facts.python_worker.filter(|worker| states.is_some_and(|states| states.is_kept(*worker)));
                functions.python_workers.extend(stateful);
                functions.are_cut_short |= facts.may_end_early;
                input.find_stateful_functions(states, functions);
            }
        }
    }

    /// The number of parts in the mixture that the rows come from, if any.
    pub fn num_parts(&self) -> usize {
        match self {
            Self::Meter { plan, .. } | Self::Then(plan, _) | Self::Pieces(plan, _) => plan.num_parts(),
            Self::Mix(inputs, _) => inputs.len(),
            _ => 0,
        }
    }

    /// The memory that the formats of its files keep as long as the plan exists, in bytes.
    pub fn held_bytes(&self) -> usize {
        match self {
            Self::Files(format, _) | Self::File(format, ..) => format.held_bytes(),
            Self::Meter { plan, .. } | Self::Then(plan, _) | Self::Pieces(plan, _) => plan.held_bytes(),
            Self::Shuffled(plan, shuffle) => {
                let num_bytes = shuffle.sampling.as_ref().map_or(0, |sampling| sampling.weights.num_bytes());
                plan.held_bytes().saturating_add(num_bytes)
            }
            Self::Concat(inputs) | Self::Mix(inputs, _) | Self::Zip(inputs, _) => {
                inputs.iter().map(|input| input.held_bytes()).sum()
            }
            Self::Indexed(_) | Self::PythonSource(_) => 0,
        }
    }

    /// The number of shards, if the rows belong to one or are built from the rows of one.
    pub(super) fn num_shards(&self) -> Option<u64> {
        match self {
            Self::Meter { plan, .. } => plan.num_shards(),
            Self::Then(input, step) => step.facts().shards.count(|| input.num_shards()),
            _ => None,
        }
    }
}
