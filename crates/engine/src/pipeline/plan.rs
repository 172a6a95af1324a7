//! The description of a pipeline as the engine takes it: a tree, from which each pass makes its nodes.

use super::block::{FileOrigin, Pass};
use super::index::Kept;
use super::node::{Node, Position};
use super::nodes::batch::Batch;
use super::nodes::bucket::{Bucket, Buckets};
use super::nodes::cache::{Fill, Replay, Store};
use super::nodes::counted::Counted;
use super::nodes::epochs::Passes;
use super::nodes::expected::Expected;
use super::nodes::files::{Files, Format};
use super::nodes::hosted::Hosted;
use super::nodes::map::{Map, Stage, Worker};
use super::nodes::merge::{Drawn, Merge};
use super::nodes::sampled::{Indexed, Order, Sampled};
use super::nodes::take::{Shard, Skip, Take};
use super::nodes::window::Window;
use super::nodes::zip::Zip;
use super::origin::mix;
use super::shuffle_plan::shuffled;
use std::sync::Arc;

/// A source, or a step with what comes before it.
pub enum Plan {
    /// The records of files of a format.
    Files(Arc<dyn Format>, Arc<[Arc<FileOrigin>]>),
    /// Rows that can be had by their numbers.
    Indexed(Arc<dyn Indexed>),
    /// Rows that the thread of a lane makes.
    Hosted(usize),
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
}

/// What is done with rows.
#[derive(Clone)]
pub enum Step {
    /// Work by the pool of workers.
    Map(Arc<[Arc<dyn Stage>]>, Expected),
    /// Work by the thread of a lane.
    MapHosted(usize, Expected),
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
    },
    /// Rows of similar lengths in groups.
    Bucket(Arc<Buckets>),
    /// Blocks that are kept after a whole pass, which is always pass 0 of what comes before.
    Cache(Arc<Store>),
    /// The passes `0..count`, or for ever.
    Epochs(Option<u64>),
}

/// What all passes have in common.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many workers there are.
    pub num_threads: usize,
    /// Whether what is done first may come first.
    pub(super) in_any_order: bool,
    /// Which of the pipelines that were put together this is, as a number for the path to it.
    branch: u64,
    /// The number of the stage whose nodes are made.
    stage: usize,
}

impl Settings {
    /// For so many workers, in order. Nothing is counted outside of [`Plan::Metered`].
    pub fn new(num_threads: usize) -> Self {
        Self { num_threads, in_any_order: false, branch: 0, stage: usize::MAX }
    }

    /// With `in_any_order`, what is done first may come first.
    pub fn in_any_order(self, in_any_order: bool) -> Self {
        Self { in_any_order, ..self }
    }

    /// For stage number `stage`.
    pub(super) fn of_stage(self, stage: usize) -> Self {
        Self { stage, ..self }
    }

    /// Where a node stands that belongs to pass `pass`, so many steps away from the consumer.
    pub(super) fn position(self, pass: u64, distance: usize) -> Position {
        Position { pass: self.pass(pass), distance, stage: self.stage }
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

impl Plan {
    /// The nodes for pass number `pass`; they are `distance` steps away from the consumer.
    pub fn start(self: &Arc<Self>, pass: u64, settings: Settings, distance: usize) -> Box<dyn Node> {
        match &**self {
            Self::Files(format, files) => {
                let (format, files) = (Arc::clone(format), Arc::clone(files));
                let node = Files::new(format, files, settings.num_threads, settings.position(pass, distance));
                Box::new(node.in_any_order(settings.in_any_order))
            }
            Self::Indexed(rows) => {
                let position = settings.position(pass, distance);
                let node = Sampled::new(Arc::clone(rows), Order::Natural, settings.ahead(), position);
                Box::new(node.in_any_order(settings.in_any_order))
            }
            Self::Hosted(lane) => Box::new(Hosted::new(*lane, settings.position(pass, distance))),
            Self::Concat(inputs) => {
                let inputs = Arc::clone(inputs);
                let next = move |number: u64| {
                    let number = usize::try_from(number).ok()?;
                    inputs.get(number).map(|input| input.start(pass, settings.part(number), distance + 1))
                };
                Box::new(Passes::new(Box::new(next), false))
            }
            Self::Mix(inputs, Mix { weights, goes_on, seed }) => {
                let drawn = Drawn::new(weights.clone(), *goes_on, *seed, pass);
                Box::new(Merge::new(parts(inputs, pass, settings, distance), Box::new(drawn)))
            }
            Self::Zip(inputs, is_strict) => {
                let inputs = parts(inputs, pass, settings, distance);
                Box::new(Zip::new(inputs, *is_strict, settings.ahead(), settings.position(pass, distance)))
            }
            Self::Metered { plan, stage, counts_rows } => {
                let node = plan.start(pass, settings.of_stage(*stage), distance);
                if *counts_rows { Box::new(Counted::new(node, *stage)) } else { node }
            }
            Self::Shuffled(input, shuffle) => shuffled(input, shuffle, pass, settings, distance),
            Self::Then(input, Step::Epochs(count)) => epochs(input, *count, pass, settings, distance),
            Self::Then(input, Step::Cache(store)) => match store.get() {
                Some(cached) => Box::new(Replay::new(cached, settings.pass(pass))),
                None => {
                    let input = input.start(0, settings, distance + 1);
                    Box::new(Fill::new(input, Arc::clone(store), settings.pass(pass)))
                }
            },
            Self::Then(input, step) => step.start(input.start(pass, settings, distance + 1), pass, settings, distance),
        }
    }
}

/// The nodes of pipelines that are put together.
fn parts(inputs: &[Arc<Plan>], pass: u64, settings: Settings, distance: usize) -> Vec<Box<dyn Node>> {
    let start = |(index, input): (usize, &Arc<Plan>)| input.start(pass, settings.part(index), distance + 1);
    inputs.iter().enumerate().map(start).collect()
}

/// So many passes are between the passes of passes without an end.
const ENDLESS: u64 = 1 << 32;

/// The passes of `input` that pass number `pass` of all consists of.
fn epochs(input: &Arc<Plan>, count: Option<u64>, pass: u64, settings: Settings, distance: usize) -> Box<dyn Node> {
    let input = Arc::clone(input);
    let first = pass.wrapping_mul(count.unwrap_or(ENDLESS));
    let next = move |number: u64| {
        let is_over = count.is_some_and(|count| number >= count);
        (!is_over).then(|| input.start(first.wrapping_add(number), settings, distance + 1))
    };
    Box::new(Passes::new(Box::new(next), true))
}

impl Step {
    pub(super) fn start(&self, input: Box<dyn Node>, pass: u64, settings: Settings, distance: usize) -> Box<dyn Node> {
        let map = |input, worker, expected: &Expected| {
            let map = Map::new(input, worker, settings.ahead(), settings.position(pass, distance));
            Box::new(map.in_any_order(settings.in_any_order).expecting(expected.clone()))
        };
        match self {
            Self::Map(stages, expected) => map(input, Worker::Pool(Arc::clone(stages)), expected),
            Self::MapHosted(lane, expected) => map(input, Worker::Lane(*lane), expected),
            Self::Take(count) => Box::new(Take::new(input, *count)),
            Self::Skip(count) => Box::new(Skip::new(input, *count)),
            Self::Shard { index, count } => Box::new(Shard::new(input, *index, *count)),
            Self::Window { size, seed } => Box::new(Window::new(input, *size, *seed, pass)),
            Self::Batch { size, drops_remainder } => {
                Box::new(Batch::new(input, *size, *drops_remainder, settings.pass(pass)))
            }
            Self::Bucket(buckets) => Box::new(Bucket::new(input, buckets.as_ref().clone(), settings.pass(pass))),
            Self::Cache(_) | Self::Epochs(_) => input,
        }
    }
}
