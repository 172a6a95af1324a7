//! The description of a pipeline as the engine takes it: a tree, from which each pass makes its nodes.

mod shuffle;

use crate::error::Result;
use crate::pipeline::blocks::block::{FileProvenance, Pass};
use crate::pipeline::blocks::row_id::mix;
use crate::pipeline::checkpoint::Checkpoint;
use crate::pipeline::formats::Format;
use crate::pipeline::function_states::{FunctionState, FunctionStates};
use crate::pipeline::index::Kept;
use crate::pipeline::node::{Node, Position};
use crate::pipeline::nodes::buffers::replay::Restart;
use crate::pipeline::nodes::cache::{Fill, FromCache, Rest, Store};
use crate::pipeline::nodes::counted::Counted;
use crate::pipeline::nodes::epochs::{Keepers, Passes};
use crate::pipeline::nodes::groups::batch::{Batch, Turn};
use crate::pipeline::nodes::groups::bucket::{Bucketing, Buckets};
use crate::pipeline::nodes::groups::group_by::GroupBy;
use crate::pipeline::nodes::groups::pack::{FirstFit, Packing};
use crate::pipeline::nodes::interleave::{Drawn, Interleave};
use crate::pipeline::nodes::map::{Map, Stage, Worker};
use crate::pipeline::nodes::size_estimate::SizeEstimate;
use crate::pipeline::nodes::skip_errors::SkipErrors;
use crate::pipeline::nodes::sources::files::Files;
use crate::pipeline::nodes::sources::indexed::{Indexed, IndexedRows, Order};
use crate::pipeline::nodes::sources::python_source::PythonSource;
use crate::pipeline::nodes::take::{Behind, Shard, Share, Skip, Take, resharded};
use crate::pipeline::nodes::window::Window;
use crate::pipeline::nodes::zip::Zip;
use crate::pipeline::plan::shuffle::shuffled;
use crate::pipeline::skip_event::PassedRows;
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
    /// The number of the stage behind them that lets failures be left out, if there is one.
    skipper: Option<usize>,
    /// Whether nodes ask for rows, and begin tasks, only when their results are wanted.
    in_step: bool,
    /// Whether nothing is counted.
    is_uncounted: bool,
    /// Whether there are more passes over the same.
    is_repeated: bool,
    /// Set within passes over a shard: how many shards there were where the checkpoint was made. Their rows are counted while
    /// they are skipped.
    old_shards: Option<u64>,
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
    fn again(self, is_again: bool) -> Self {
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
    fn covered_by(self, stage: usize) -> Self {
        Self { skipper: Some(stage), ..self }
    }

    /// For passes over one of several shards.
    fn over_shards(self, old_shards: Option<u64>) -> Self {
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

impl Plan {
    /// The nodes for pass number `pass` from a checkpoint on; they are `distance` steps away from the consumer. Fails if this plan
    /// cannot have given the checkpoint.
    pub fn start(
        self: &Arc<Self>,
        pass: u64,
        settings: Settings,
        distance: usize,
        from: &Checkpoint,
    ) -> Result<Box<dyn Node>> {
        let node: Box<dyn Node> = match &**self {
            Self::Files(format, files) => {
                let (format, files) = (Arc::clone(format), Arc::clone(files));
                let node = Files::new(format, files, settings.num_threads, settings.position(pass, distance));
                Box::new(node.in_any_order(settings.in_any_order).from_checkpoint(from)?)
            }
            Self::Indexed(rows) => {
                let position = settings.position(pass, distance);
                let node = IndexedRows::new(Arc::clone(rows), Order::Natural, settings.ahead(), position);
                Box::new(node.in_any_order(settings.in_any_order).from_checkpoint(from)?)
            }
            // The thread of the Python worker leaves out what is to be left out.
            Self::PythonSource(python_worker) => {
                return Ok(Box::new(
                    PythonSource::new(*python_worker, settings.position(pass, distance)).from_checkpoint(from)?,
                ));
            }
            Self::Concat(inputs) => {
                let inputs = Arc::clone(inputs);
                let mut keepers = Keepers::default();
                if settings.is_repeated {
                    inputs.iter().for_each(|input| input.find_keepers(from.states(), &mut keepers));
                }
                let keepers = Keepers { num_passes: u64::MAX, in_step: settings.in_step, ..keepers };
                let next = move |number: u64, from: &Checkpoint, is_again: bool| {
                    let number = usize::try_from(number).ok()?;
                    let settings = settings.part(number).again(is_again);
                    inputs.get(number).map(|input| input.start(pass, settings, distance + 1, from))
                };
                let passes = Passes::new(Box::new(next), false).keeping(keepers, from.states());
                Box::new(passes.from_checkpoint(from)?)
            }
            Self::Mix(inputs, Mix { weights, goes_on, seed }) => {
                let drawn = Drawn::new(weights.clone(), *goes_on, *seed, pass);
                let inputs = parts(inputs, pass, settings, distance, |index| from.input(index))?;
                Box::new(Interleave::new(inputs, Box::new(drawn)).in_step(settings.in_step).from_checkpoint(from)?)
            }
            Self::Zip(inputs, is_strict) => {
                let [num_rows] = from.numbers()?.unwrap_or_default();
                let first = |index| Ok(from.input(index)?.behind(from.skip()));
                let inputs = parts(inputs, pass, settings, distance, first)?;
                let zip = Zip::new(inputs, *is_strict, settings.ahead(), settings.position(pass, distance));
                return Ok(Box::new(zip.numbered_from(num_rows.saturating_add(from.skip()))));
            }
            Self::Metered { plan, stage, counts_rows } => {
                let node = plan.start(pass, settings.of_stage(*stage), distance, from)?;
                return Ok(if *counts_rows && !settings.is_uncounted {
                    Box::new(Counted::new(node, *stage))
                } else {
                    node
                });
            }
            Self::Shuffled(input, shuffle) => shuffled(input, shuffle, pass, settings, distance, from.base()),
            Self::Then(input, step) => return step.start(input, pass, settings, distance, from),
        };
        Ok(behind(node, from.skip()))
    }

    /// Adds the Python workers whose functions keep a state. What is before a cache always begins as the iteration does.
    fn find_keepers(&self, states: Option<&Arc<FunctionStates>>, keepers: &mut Keepers) {
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
}

impl Plan {
    /// How many shards there are, if these are the rows of one, or what is made of each of them or of batches of them.
    fn num_shards(&self) -> Option<u64> {
        match self {
            Self::Metered { plan, .. } => plan.num_shards(),
            Self::Then(_, Step::Shard { count, .. }) => Some(*count),
            Self::Then(input, Step::Map(..) | Step::MapPython { .. } | Step::Batch { .. }) => input.num_shards(),
            _ => None,
        }
    }
}

/// The rows of a node behind the first `skip`.
pub(super) fn behind(node: Box<dyn Node>, skip: u64) -> Box<dyn Node> {
    if skip == 0 { node } else { Box::new(Behind::new(node, skip)) }
}

/// The nodes of pipelines that are put together, from a checkpoint of each on.
fn parts(
    inputs: &[Arc<Plan>],
    pass: u64,
    settings: Settings,
    distance: usize,
    first: impl Fn(usize) -> Result<Checkpoint>,
) -> Result<Vec<Box<dyn Node>>> {
    let start =
        |(index, input): (usize, &Arc<Plan>)| input.start(pass, settings.part(index), distance + 1, &first(index)?);
    inputs.iter().enumerate().map(start).collect()
}

/// So many passes are between the passes of passes without an end.
const ENDLESS: u64 = 1 << 32;

/// The passes of `input` that pass number `pass` of all consists of, from a checkpoint on.
fn epochs(
    input: &Arc<Plan>,
    count: Option<u64>,
    pass: u64,
    settings: Settings,
    distance: usize,
    from: &Checkpoint,
) -> Result<Box<dyn Node>> {
    let num_shards = input.num_shards();
    let settings = settings.over_shards(match num_shards {
        None => None,
        Some(num_shards) => Some(Passes::old_shards(from)?.unwrap_or(num_shards)),
    });
    let mut keepers = Keepers::default();
    input.find_keepers(from.states(), &mut keepers);
    keepers.are_cut_short &= !settings.in_any_order;
    keepers.in_step = settings.in_step;
    keepers.num_passes = match count {
        Some(count) if !settings.is_repeated => count.saturating_sub(1),
        _ => u64::MAX,
    };
    let settings = Settings { is_repeated: settings.is_repeated || count != Some(1), ..settings };
    let input = Arc::clone(input);
    let first = pass.wrapping_mul(count.unwrap_or(ENDLESS));
    let next = move |number: u64, from: &Checkpoint, is_again: bool| {
        let is_over = count.is_some_and(|count| number >= count);
        let settings = settings.again(is_again);
        (!is_over).then(|| input.start(first.wrapping_add(number), settings, distance + 1, from))
    };
    let passes = Passes::new(Box::new(next), true).keeping(keepers, from.states()).over_shards(num_shards);
    let passes = passes.from_checkpoint(from)?;
    let skip = if passes.skips() { 0 } else { from.skip() };
    Ok(behind(Box::new(passes), skip))
}

impl Step {
    /// The nodes behind those of `input`, from a checkpoint on.
    fn start(
        &self,
        input: &Arc<Plan>,
        pass: u64,
        settings: Settings,
        distance: usize,
        from: &Checkpoint,
    ) -> Result<Box<dyn Node>> {
        let restart: Restart = {
            let input = Arc::clone(input);
            Box::new(move |checkpoint| input.start(pass, settings, distance + 1, checkpoint))
        };
        let skip = from.skip();
        Ok(match self {
            Self::Map(..) | Self::MapPython { .. } => {
                let node = restart(&self.before(from, settings)?)?;
                return Ok(self.map(node, pass, settings, distance, from));
            }
            Self::Take(count) => {
                let [given] = from.numbers()?.unwrap_or_default();
                Box::new(Take::new(restart(&from.input(0)?.behind(skip))?, *count, given.saturating_add(skip)))
            }
            Self::Skip(count) => match from.numbers::<1>()? {
                None => Box::new(Skip::new(restart(&from.beginning())?, *count, count.saturating_add(skip))),
                // They were left out before.
                Some(_) => Box::new(Skip::new(restart(&from.input(0)?.behind(skip))?, *count, 0)),
            },
            Self::Shard { index, count } => {
                let [given, old_count] = from.numbers()?.unwrap_or([0, settings.old_shards.unwrap_or(*count)]);
                let first = from.input(0)?;
                let restart = |from: &Checkpoint| input.start(pass, settings.over_shards(None), distance + 1, from);
                if settings.old_shards.is_some() {
                    Box::new(Shard::new(restart(&first)?, *index, *count, given).behind(skip, old_count)?)
                } else {
                    let given = resharded(given.saturating_add(skip), old_count, *count)?;
                    let input = restart(&first.behind(skip.saturating_mul(old_count)))?;
                    Box::new(Shard::new(input, *index, *count, given))
                }
            }
            Self::Share { index, count, run } => {
                let [old_count] = from.numbers()?.unwrap_or([*count]);
                let num_before = (skip / run).saturating_mul(*run).saturating_mul(old_count);
                let input = restart(&from.input(0)?.behind(num_before))?;
                behind(Box::new(Share::new(input, *index, *count, *run)), skip % run)
            }
            Self::Window { size, seed } => {
                let window = Window::from_checkpoint(from, restart, *size, *seed, pass)?;
                behind(Box::new(window.in_step(settings.in_step)), skip)
            }
            Self::Batch { size, drops_remainder, turn } => {
                // Behind a shard, the batches may have had another size.
                let [next, old_size] = from.numbers()?.unwrap_or([0, *size as u64]);
                let first = from.input(0)?;
                let input = restart(&first.behind(skip.saturating_mul(old_size)))?;
                let batch = Batch::new(input, *size, *drops_remainder, settings.pass(pass));
                let batch = batch.skipping(old_size, first.skip());
                let next = next.saturating_add(skip.saturating_mul(turn.count));
                Box::new(batch.numbered_from(next).in_turn(*turn))
            }
            Self::Bucket(buckets) => {
                let bucketing = Bucketing::new(buckets.as_ref().clone());
                Box::new(GroupBy::from_checkpoint(from, restart, bucketing, settings.position(pass, distance))?)
            }
            Self::Pack(packing) => {
                let packing = FirstFit::new(packing.clone());
                Box::new(GroupBy::from_checkpoint(from, restart, packing, settings.position(pass, distance))?)
            }
            Self::SkipErrors(stage) => {
                let [count] = from.numbers()?.unwrap_or_default();
                let input =
                    input.start(pass, settings.covered_by(*stage), distance + 1, &from.input(0)?.behind(skip))?;
                let passed = PassedRows { pass, count: count.saturating_add(skip) };
                Box::new(SkipErrors::new(input, *stage, passed))
            }
            Self::Cache(store) => cached(input, store, pass, settings, distance, from)?,
            Self::Epochs(count) => epochs(input, *count, pass, settings, distance, from)?,
        })
    }

    /// Where the input of a step that works on rows goes on.
    pub(super) fn before(&self, from: &Checkpoint, settings: Settings) -> Result<Checkpoint> {
        if self.keeps_count(settings) { Ok(from.clone()) } else { from.input(0) }
    }

    fn keeps_count(&self, settings: Settings) -> bool {
        match self {
            Self::Map(stages, _) => settings.skipper.is_none() && stages.iter().all(|stage| stage.keeps_count()),
            Self::MapPython { keeps_count, .. } => settings.skipper.is_none() && *keeps_count,
            _ => false,
        }
    }

    /// The node of a step that works on rows, behind one that begins where [`Step::before`] says.
    pub(super) fn map(
        &self,
        node: Box<dyn Node>,
        pass: u64,
        settings: Settings,
        distance: usize,
        from: &Checkpoint,
    ) -> Box<dyn Node> {
        let (worker, size_estimate) = match self {
            Self::Map(stages, size_estimate) => (Worker::Pool(Arc::clone(stages)), size_estimate),
            Self::MapPython { python_worker, keeps_count, size_estimate } => {
                (Worker::Python(*python_worker, *keeps_count), size_estimate)
            }
            // The others leave each row as it is.
            _ => return node,
        };
        let map = Map::new(node, worker, settings.ahead(), settings.position(pass, distance));
        let map = map.in_any_order(settings.in_any_order).with_size_estimate(size_estimate.clone());
        let map = match self {
            Self::MapPython { python_worker, keeps_count: false, .. } => {
                map.with_state(function_state(*python_worker, from))
            }
            _ => map,
        };
        behind(Box::new(map), if self.keeps_count(settings) { 0 } else { from.skip() })
    }
}

/// The state of the function of a Python worker, before the first task of a node that begins at a checkpoint.
fn function_state(python_worker: usize, from: &Checkpoint) -> FunctionState {
    let text = from.text().or_else(|| from.states()?.get(python_worker));
    from.states().inspect(|states| states.set(python_worker, text.clone()));
    FunctionState::new(text, from.states().map(|states| (Arc::clone(states), python_worker)))
}

/// The rows that a cache keeps, or those that it will keep once a whole pass has gone through, which is always pass 0 of
/// what comes before.
fn cached(
    input: &Arc<Plan>,
    store: &Arc<Store>,
    pass: u64,
    settings: Settings,
    distance: usize,
    from: &Checkpoint,
) -> Result<Box<dyn Node>> {
    let [first] = from.numbers()?.unwrap_or_default();
    let (next, pass) = (first.saturating_add(from.skip()), settings.pass(pass));
    // All pipelines that the cache is part of share it, so what is before it cannot depend on which of them runs.
    // So it begins with the same states of functions each time, too.
    let states = from.states().map(|states| states.at_beginning());
    let start = |checkpoint: &Checkpoint| {
        let checkpoint = checkpoint.clone().with_states(states.clone());
        input.start(0, Settings { branch: 0, ..settings }, distance + 1, &checkpoint)
    };
    Ok(match store.get() {
        Some(cached) => Box::new(FromCache::new(cached, next, pass)),
        None if next == 0 => Box::new(Fill::new(start, Arc::clone(store), pass, settings.in_any_order)?),
        None => Box::new(Rest::new(start(&from.input(0)?.behind(from.skip()))?, next, pass)),
    })
}
