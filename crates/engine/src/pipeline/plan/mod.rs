//! The description of a pipeline as the engine takes it: a tree, from which each pass makes its nodes.

mod settings;
mod shuffle;
mod start;
mod step;

pub use settings::Settings;

use crate::pipeline::blocks::block::FileProvenance;
use crate::pipeline::formats::Format;
use crate::pipeline::function_states::FunctionStates;
use crate::pipeline::index::Kept;
use crate::pipeline::nodes::cache::Store;
use crate::pipeline::nodes::epochs::Keepers;
use crate::pipeline::nodes::groups::batch::Turn;
use crate::pipeline::nodes::groups::bucket::Buckets;
use crate::pipeline::nodes::groups::pack::Packing;
use crate::pipeline::nodes::map::Stage;
use crate::pipeline::nodes::size_estimate::SizeEstimate;
use crate::pipeline::nodes::sources::indexed::Indexed;
use crate::pipeline::stages::fetch::SharedLookup;
use std::sync::Arc;

/// A source, or a step with what comes before it.
pub enum Plan {
    /// The records of files of a format.
    Files(Arc<dyn Format>, Arc<[Arc<FileProvenance>]>),
    /// Rows that can be had by their numbers.
    Indexed(Arc<dyn Indexed>),
    /// Rows that the thread of a Python worker makes.
    PythonSource(usize),
    /// Plans one after the other.
    Concat(Arc<[Arc<Plan>]>),
    /// Rows of plans, drawn by their weights.
    Mix(Arc<[Arc<Plan>]>, Mix),
    /// The rows of plans side by side; all must have equally many if it is strict.
    Zip(Arc<[Arc<Plan>]>, bool),
    /// All rows of a plan that makes one of each, in another order.
    Shuffled(Arc<Plan>, Shuffle),
    /// A step after what comes before it.
    Then(Arc<Plan>, Step),
    /// A plan whose work is counted as that of the stage of this number; so are its rows, if it says so.
    Metered {
        /// The plan.
        plan: Arc<Plan>,
        /// The number of the stage.
        stage: usize,
        /// Whether its rows are counted.
        counts_rows: bool,
    },
}

/// How rows of several plans are drawn.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Those of each plan are drawn in this proportion.
    pub weights: Vec<f64>,
    /// Whether those that are left go on when one has ended.
    pub goes_on: bool,
    /// The seed of the draws.
    pub seed: u64,
}

/// A shuffle of all rows.
#[derive(Clone)]
pub struct Shuffle {
    /// The seed of the order.
    pub seed: u64,
    /// What is known of files from earlier passes.
    pub kept: Arc<Kept>,
    /// Set if the shuffle gives the numbers of rows, which a stage reads that comes later. Then nothing may stand between it
    /// and the source.
    pub lookup: Option<Arc<SharedLookup>>,
}

/// What is done with rows.
#[derive(Clone)]
pub enum Step {
    /// Work by the pool of workers.
    Map(Arc<[Arc<dyn Stage>]>, SizeEstimate),
    /// Work by the thread of a Python worker.
    MapPython {
        /// The number of the Python worker.
        python_worker: usize,
        /// Whether it makes one row of each, and keeps no state. Then rows are left out before it.
        keeps_count: bool,
        /// What is known of its results.
        size_estimate: SizeEstimate,
    },
    /// So many rows are kept.
    Take(u64),
    /// So many rows are left out.
    Skip(u64),
    /// Every `count`-th row is kept, from number `index` on.
    Shard {
        /// The first row that is kept.
        index: u64,
        /// How many shards there are.
        count: u64,
    },
    /// Every `count`-th run of rows is kept, from run `index` on, counted from where the rows begin or are taken up again.
    Share {
        /// The first run that is kept.
        index: u64,
        /// How many shares there are.
        count: u64,
        /// How many rows a run has, at least 1.
        run: u64,
    },
    /// The next row is drawn from those that wait.
    Window {
        /// How many wait.
        size: usize,
        /// The seed of the draws.
        seed: u64,
    },
    /// Rows in groups.
    Batch {
        /// How many rows a group has.
        size: usize,
        /// Whether the last rows are left out if they are fewer.
        drops_remainder: bool,
        /// Which of the batches of all shares come of the rows.
        turn: Turn,
    },
    /// Rows of similar lengths in groups.
    Bucket(Arc<Buckets>),
    /// Rows whose lists fill a length in groups.
    Pack(Packing),
    /// Blocks that are kept after a whole pass, which is always pass 0 of what comes before.
    Cache(Arc<Store>),
    /// The passes `0..count`, or for ever.
    Epochs(Option<u64>),
    /// What failed before is left out. Holds the number of the stage.
    SkipErrors(usize),
}

impl Plan {
    /// Adds the Python workers whose functions keep a state. What is before a cache always begins as the iteration does.
    pub(super) fn find_keepers(&self, states: Option<&Arc<FunctionStates>>, keepers: &mut Keepers) {
        match self {
            Self::Files(..) | Self::Indexed(_) | Self::PythonSource(_) => {}
            Self::Concat(inputs) => inputs.iter().for_each(|input| input.find_keepers(states, keepers)),
            Self::Mix(inputs, mix) => {
                keepers.are_cut_short |= !mix.goes_on;
                inputs.iter().for_each(|input| input.find_keepers(states, keepers));
            }
            Self::Zip(inputs, is_strict) => {
                let num_before = keepers.python_workers.len();
                inputs.iter().for_each(|input| input.find_keepers(states, keepers));
                if !is_strict {
                    keepers.are_cut_short = true;
                    keepers.zipped.extend_from_slice(&keepers.python_workers[num_before..]);
                }
            }
            Self::Shuffled(input, _) => input.find_keepers(states, keepers),
            Self::Metered { plan, .. } => plan.find_keepers(states, keepers),
            Self::Then(_, Step::Cache(_)) => {}
            Self::Then(input, step) => {
                match step {
                    Step::MapPython { python_worker, .. }
                        if states.is_some_and(|states| states.is_kept(*python_worker)) =>
                    {
                        keepers.python_workers.push(*python_worker);
                    }
                    Step::Take(_) => keepers.are_cut_short = true,
                    _ => {}
                }
                input.find_keepers(states, keepers);
            }
        }
    }

    /// How many shards there are, if these are the rows of one, or what is made of each of them or of batches of them.
    pub(super) fn num_shards(&self) -> Option<u64> {
        match self {
            Self::Metered { plan, .. } => plan.num_shards(),
            Self::Then(_, Step::Shard { count, .. }) => Some(*count),
            Self::Then(input, Step::Map(..) | Step::MapPython { .. } | Step::Batch { .. }) => input.num_shards(),
            _ => None,
        }
    }
}
