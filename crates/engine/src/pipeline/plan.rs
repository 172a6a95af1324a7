//! The description of a pipeline as the engine takes it: a tree, from which each pass makes its nodes.

use super::block::{FileOrigin, Pass};
use super::node::{Node, Position};
use super::nodes::batch::Batch;
use super::nodes::counted::Counted;
use super::nodes::epochs::Passes;
use super::nodes::files::{Files, Format};
use super::nodes::hosted::Hosted;
use super::nodes::map::{Map, Stage, Worker};
use super::nodes::sampled::{Indexed, Sampled};
use super::nodes::take::{Shard, Skip, Take};
use super::nodes::window::Window;
use super::origin::mix;
use super::permutation::Permutation;
use std::sync::Arc;

/// A source, or a step with what comes before it.
pub enum Plan {
    /// The records of files of a format.
    Files(Arc<dyn Format>, Arc<[Arc<FileOrigin>]>),
    /// Rows that can be had by their numbers; shuffled as a whole if there is a seed.
    Indexed(Arc<dyn Indexed>, Option<u64>),
    /// Rows that the thread of a lane makes.
    Hosted(usize),
    /// Plans one after the other.
    Concat(Arc<[Arc<Plan>]>),
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

/// What is done with rows.
pub enum Step {
    /// Work by the pool of workers.
    Map(Arc<[Arc<dyn Stage>]>),
    /// Work by the thread of a lane.
    MapHosted(usize),
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
    /// The passes `0..count`, or for ever.
    Epochs(Option<u64>),
}

/// What all passes have in common.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many workers there are.
    pub num_threads: usize,
    /// Which of the pipelines that were put together this is, as a number for the path to it.
    branch: u64,
    /// The number of the stage whose nodes are made.
    stage: usize,
}

impl Settings {
    /// For so many workers. Nothing is counted outside of [`Plan::Metered`].
    pub fn new(num_threads: usize) -> Self {
        Self { num_threads, branch: 0, stage: usize::MAX }
    }

    /// For part `index` of pipelines that are put together.
    fn part(self, index: usize) -> Self {
        Self { branch: mix(self.branch, index as u64 + 1), ..self }
    }

    fn pass(self, number: u64) -> Pass {
        Pass { number, branch: self.branch }
    }

    /// Where a node stands that belongs to pass `pass`, so many steps away from the consumer.
    fn position(self, pass: u64, distance: usize) -> Position {
        Position { pass: self.pass(pass), distance, stage: self.stage }
    }

    /// How many tasks of one kind are begun before their results are wanted.
    fn ahead(self) -> usize {
        2 * self.num_threads + 2
    }
}

impl Plan {
    /// The nodes for pass number `pass`; they are `distance` steps away from the consumer.
    pub fn start(self: &Arc<Self>, pass: u64, settings: Settings, distance: usize) -> Box<dyn Node> {
        match &**self {
            Self::Files(format, files) => {
                let (format, files) = (Arc::clone(format), Arc::clone(files));
                Box::new(Files::new(format, files, settings.num_threads, settings.position(pass, distance)))
            }
            Self::Indexed(rows, seed) => {
                let order = seed.map(|seed| Permutation::new(rows.len(), seed, pass));
                let position = settings.position(pass, distance);
                Box::new(Sampled::new(Arc::clone(rows), order, settings.ahead(), position))
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
            Self::Metered { plan, stage, counts_rows } => {
                let node = plan.start(pass, Settings { stage: *stage, ..settings }, distance);
                if *counts_rows { Box::new(Counted::new(node, *stage)) } else { node }
            }
            Self::Then(input, Step::Epochs(count)) => epochs(input, *count, pass, settings, distance),
            Self::Then(input, step) => step.start(input.start(pass, settings, distance + 1), pass, settings, distance),
        }
    }
}

/// The passes of `input` that pass number `pass` of all consists of.
fn epochs(input: &Arc<Plan>, count: Option<u64>, pass: u64, settings: Settings, distance: usize) -> Box<dyn Node> {
    let input = Arc::clone(input);
    let first = pass.wrapping_mul(count.unwrap_or(0));
    let next = move |number: u64| {
        let is_over = count.is_some_and(|count| number >= count);
        (!is_over).then(|| input.start(first.wrapping_add(number), settings, distance + 1))
    };
    Box::new(Passes::new(Box::new(next), true))
}

impl Step {
    fn start(&self, input: Box<dyn Node>, pass: u64, settings: Settings, distance: usize) -> Box<dyn Node> {
        let map =
            |input, worker| Box::new(Map::new(input, worker, settings.ahead(), settings.position(pass, distance)));
        match self {
            Self::Map(stages) => map(input, Worker::Pool(Arc::clone(stages))),
            Self::MapHosted(lane) => map(input, Worker::Lane(*lane)),
            Self::Take(count) => Box::new(Take::new(input, *count)),
            Self::Skip(count) => Box::new(Skip::new(input, *count)),
            Self::Shard { index, count } => Box::new(Shard::new(input, *index, *count)),
            Self::Window { size, seed } => Box::new(Window::new(input, *size, *seed, pass)),
            Self::Batch { size, drops_remainder } => {
                Box::new(Batch::new(input, *size, *drops_remainder, settings.pass(pass)))
            }
            Self::Epochs(_) => input,
        }
    }
}
