//! Creates the nodes of a step after the nodes of its input.

use crate::blocks::part_counts::RowAnnotations;
use crate::blocks::row_id::Path;
use crate::checkpoint::{Checkpoint, damaged};
use crate::function_states::FunctionState;
use crate::node::Node;
use crate::nodes::buffers::replay::Restart;
use crate::nodes::cache::{CacheReader, CacheWriter, Store, UncachedTail};
use crate::nodes::digest_order::DigestOrder;
use crate::nodes::disk_cache::formats::{FormatOfFiles, Formats};
use crate::nodes::disk_cache::store::DiskStore;
use crate::nodes::disk_cache::{Read, Write};
use crate::nodes::epochs::{Passes, StatefulFunctions};
use crate::nodes::groups::batch::{Batch, Start};
use crate::nodes::groups::bucket::Bucketing;
use crate::nodes::groups::group_by::GroupBy;
use crate::nodes::groups::pack::FirstFit;
use crate::nodes::groups::pack_trees::TreeFit;
use crate::nodes::groups::runs::{Collecting, InRuns};
use crate::nodes::map::{Map, Worker};
use crate::nodes::shard::{Shard, resharded};
use crate::nodes::skip_errors::SkipErrors;
use crate::nodes::step_facts::StepFacts;
use crate::nodes::take::{Share, Skip, Take, skip_first};
use crate::nodes::window::Window;
use crate::nodes::windows::Windows;
use crate::plan::settings::Settings;
use crate::plan::{Plan, Step};
use crate::skip_event::PassProgress;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

impl Step {
    /// Creates the nodes after the nodes of `input`, starting at a checkpoint.
    pub(super) fn start(
        &self,
        input: &Arc<Plan>,
        pass: u64,
        settings: Settings,
        distance: usize,
        from: &Checkpoint,
    ) -> Result<Box<dyn Node>> {
        let settings = settings.before(self);
        let restart: Restart = {
            let input = Arc::clone(input);
            Box::new(move |checkpoint| input.start(pass, settings, distance + 1, checkpoint))
        };
        let skip = from.skip();
        let keeps_states = from.states().is_some_and(|states| states.has_any());
        // A nested mixture counts as a single part.
        let num_parts = if settings.path == Path::default() { input.num_parts() } else { 0 };
        let annotations = RowAnnotations { num_parts, keeps_origins: settings.keeps_origins };
        Ok(match self {
            Self::Map(..) | Self::MapPython { .. } => {
                let node = restart(&self.before(from, settings)?)?;
                return self.map(node, pass, settings, distance, from);
            }
            Self::Take(count) => {
                let [num_returned] = from.numbers()?.unwrap_or_default();
                Box::new(Take::new(
                    restart(&from.input(0)?.advanced_by(skip))?,
                    *count,
                    num_returned.saturating_add(skip),
                ))
            }
            Self::Skip(count) => match from.numbers::<1>()? {
                None => Box::new(Skip::new(restart(&from.beginning())?, *count, count.saturating_add(skip))),
                // They were skipped before the checkpoint.
                Some(_) => Box::new(Skip::new(restart(&from.input(0)?.advanced_by(skip))?, *count, 0)),
            },
            Self::Shard { index, count, even, lanes } => {
                let index = &lanes.as_ref().map_or(*index, |lanes| lanes.shard(settings.lane));
                let [num_returned, old_count] = from.numbers()?.unwrap_or([0, settings.old_shards.unwrap_or(*count)]);
                let first = from.input(0)?;
                let restart = |from: &Checkpoint| {
                    let start = || input.start(pass, settings.over_shards(None), distance + 1, from);
                    match lanes {
                        Some(lanes) => lanes.input(settings.lane, pass, from, start),
                        None => start(),
                    }
                };
                if settings.old_shards.is_some() {
                    let shard = Shard::new(restart(&first)?, *index, *count, num_returned).evenly(*even);
                    Box::new(shard.advanced_by(skip, old_count)?)
                } else {
                    // Functions are called for the rows up to its last one, and for none after it.
                    let again = if keeps_states && old_count == *count { skip.min(1) } else { 0 };
                    let skip = skip - again;
                    let num_returned = resharded(num_returned.saturating_add(skip), old_count, *count)?;
                    let input = restart(&first.advanced_by(skip.saturating_mul(old_count)))?;
                    skip_first(Box::new(Shard::new(input, *index, *count, num_returned).evenly(*even)), again)
                }
            }
            Self::Share { index, count, run } => {
                let [old_count] = from.numbers()?.unwrap_or([*count]);
                let is_behind_run = keeps_states && old_count == *count && skip > 0 && skip.is_multiple_of(*run);
                let num_whole = (skip / run - u64::from(is_behind_run)).saturating_mul(*run);
                let input = restart(&from.input(0)?.advanced_by(num_whole.saturating_mul(old_count)))?;
                skip_first(Box::new(Share::new(input, *index, *count, *run)), skip - num_whole)
            }
            Self::Window { size, seed } => {
                let window = Window::from_checkpoint(from, restart, *size, *seed, pass)?.over(input.num_open());
                skip_first(Box::new(window.synchronous(settings.synchronous)), skip)
            }
            Self::Windows(windowing) => {
                let windows = Windows::new(restart(&from.input(0)?)?, Arc::clone(windowing));
                skip_first(Box::new(windows.from_checkpoint(from)?), skip)
            }
            Self::Batch { sizes, drops_remainder, share } => {
                let (start, first) = (Start::of(from, sizes, settings.old_shards)?, from.input(0)?);
                let num_rows = start.num_rows(skip);
                let input = restart(&first.advanced_by(num_rows))?;
                let next = start.next.saturating_add(skip.saturating_mul(share.count));
                let position = start.position.saturating_add(num_rows.saturating_mul(start.sizes.num_ranks()));
                let batch = Batch::new(input, sizes.clone(), *drops_remainder, settings.pass(pass));
                let batch = batch.with_skip(start, first.skip()).with_annotations(annotations);
                Box::new(batch.numbered_from(next, position).of_share(*share))
            }
            Self::Bucket(buckets) => {
                let bucketing = Bucketing::new(buckets.as_ref().clone());
                let groups = GroupBy::from_checkpoint(from, restart, bucketing, settings.position(pass, distance))?;
                Box::new(groups.with_annotations(annotations))
            }
            Self::Pack(packing) => {
                let packing = FirstFit::new(packing.clone());
                let groups = GroupBy::from_checkpoint(from, restart, packing, settings.position(pass, distance))?;
                Box::new(groups.with_annotations(annotations))
            }
            Self::PackTrees(packing) => {
                let packing = TreeFit::new(packing.clone());
                let groups = GroupBy::from_checkpoint(from, restart, packing, settings.position(pass, distance))?;
                Box::new(groups.with_annotations(annotations))
            }
            Self::Runs(runs) => {
                let [num_rows] = from.numbers()?.unwrap_or([runs.num_rows as u64]);
                let num_whole = skip.checked_div(num_rows).ok_or_else(damaged)?;
                let first = from.input(0)?.advanced_by(num_whole);
                let rest = skip - num_whole * num_rows;
                if rest > 0 && num_rows != runs.num_rows as u64 {
                    return Err(Error::invalid_argument(
                        "it was saved within a batch, so the number of ranks and the size of batches must stay the same",
                    ));
                }
                // Runs that are skipped have as many rows as before.
                let num_rows_before = if first.skip() > 0 { num_rows } else { runs.num_rows as u64 };
                let collecting = Collecting::new(*runs, usize::try_from(num_rows_before).map_err(|_| damaged())?);
                let position = settings.position(pass, distance);
                let groups = GroupBy::from_checkpoint(&first, restart, collecting, position)?;
                skip_first(Box::new(InRuns::new(Box::new(groups), runs.num_rows)), rest)
            }
            Self::Digest(digest) => {
                let [first] = from.numbers()?.unwrap_or_default();
                let (number, position) = (settings.pass(pass).number, first.saturating_add(skip));
                let digest = digest.of_lane(settings.lane);
                let begin = digest.position_to_begin(number, first, position);
                let input = restart(&from.input(0)?.advanced_by(begin - first))?;
                let digest = (!settings.is_uncounted).then_some(digest);
                skip_first(Box::new(DigestOrder::new(input, digest, number, begin)), position - begin)
            }
            Self::SkipErrors(stage) => {
                let [count] = from.numbers()?.unwrap_or_default();
                let input = input.start(
                    pass,
                    settings.errors_skipped_by(*stage),
                    distance + 1,
                    &from.input(0)?.advanced_by(skip),
                )?;
                let passed = PassProgress { pass, count: count.saturating_add(skip) };
                Box::new(SkipErrors::new(input, *stage, passed))
            }
            Self::Cache(store) => cached(input, store, pass, settings, distance, from)?,
            Self::CacheOnDisk(store) => cached_on_disk(input, store, pass, settings, distance, from, false)?,
            Self::Epochs(count) => epochs(input, *count, pass, settings, distance, from)?,
        })
    }

    /// The properties of the step's node.
    pub(super) fn facts(&self) -> StepFacts {
        match self {
            Self::Map(stages, _) => Map::facts(stages.iter().all(|stage| stage.is_one_to_one()), None),
            Self::MapPython { python_worker, is_one_to_one, .. } => Map::facts(*is_one_to_one, Some(*python_worker)),
            Self::Take(_) => Take::FACTS,
            Self::Skip(_) => Skip::FACTS,
            Self::Shard { count, .. } => Shard::facts(*count),
            Self::Share { .. } => Share::FACTS,
            Self::Window { .. } => Window::FACTS,
            Self::Windows(_) => Windows::FACTS,
            Self::Batch { sizes, .. } => Batch::facts(sizes),
            Self::Bucket(_) => Bucketing::FACTS,
            Self::Pack(_) | Self::PackTrees(_) => FirstFit::FACTS,
            Self::Runs(_) => Collecting::FACTS,
            Self::Cache(_) => Store::FACTS,
            Self::CacheOnDisk(_) => DiskStore::FACTS,
            Self::Epochs(_) => Passes::FACTS,
            Self::Digest(_) => DigestOrder::FACTS,
            Self::SkipErrors(_) => SkipErrors::FACTS,
        }
    }

    /// The checkpoint of the input, for a step that processes rows.
    pub(super) fn before(&self, from: &Checkpoint, settings: Settings) -> Result<Checkpoint> {
        if self.shares_checkpoints(settings) {
            return Ok(from.clone());
        }
        let mut input = from.input(0)?;
        if let (Self::MapPython { num_functions, .. }, Some(_)) = (self, settings.skipper) {
            for _ in 1..*num_functions {
                // A call passes rows through all functions, so no checkpoint between them may skip
                // rows.
                if input.skip() > 0 {
                    return Err(damaged());
                }
                input = input.input(0)?;
            }
        }
        Ok(input)
    }

    /// Returns true if its checkpoints are the checkpoints of its input.
    fn shares_checkpoints(&self, settings: Settings) -> bool {
        let facts = self.facts();
        facts.is_row_wise && facts.is_one_to_one && settings.skipper.is_none()
    }

    /// The checkpoint of the input exactly at a step's checkpoint, or at the first row of its
    /// batch. Returns `None` if rows are waiting in the step or it caches them.
    pub(super) fn input_at(&self, from: &Checkpoint) -> Result<Option<Checkpoint>> {
        let skip = from.skip();
        Ok(Some(match self {
            Self::Map(..) | Self::MapPython { .. } => {
                let before = self.before(from, Settings::new(1))?;
                if before == *from { before } else { before.advanced_by(skip) }
            }
            Self::Batch { sizes, .. } => from.input(0)?.advanced_by(Start::of(from, sizes, None)?.num_rows(skip)),
            Self::Shard { count, .. } => {
                let [_, count] = from.numbers()?.unwrap_or([0, *count]);
                from.input(0)?.advanced_by(skip.saturating_mul(count))
            }
            Self::Skip(count) => {
                let num_skipped = if from.state().is_none() { *count } else { 0 };
                from.input(0)?.advanced_by(num_skipped.saturating_add(skip))
            }
            Self::Take(_) | Self::Digest(_) | Self::Epochs(_) => from.input(0)?.advanced_by(skip),
            Self::Share { .. }
            | Self::Window { .. }
            | Self::Windows(_)
            | Self::Bucket(_)
            | Self::Pack(_)
            | Self::PackTrees(_)
            | Self::Runs(_)
            | Self::Cache(_)
            | Self::CacheOnDisk(_)
            | Self::SkipErrors(_) => return Ok(None),
        }))
    }

    /// Creates the node of a step that processes rows. Its input starts at the checkpoint from
    /// [`Step::before`].
    pub(super) fn map(
        &self,
        node: Box<dyn Node>,
        pass: u64,
        settings: Settings,
        distance: usize,
        from: &Checkpoint,
    ) -> Result<Box<dyn Node>> {
        let (worker, size_estimate) = match self {
            Self::Map(stages, size_estimate) => (Worker::Pool(Arc::clone(stages)), size_estimate),
            Self::MapPython {
                python_worker,
                is_one_to_one,
                num_callers,
                num_functions,
                in_processes,
                in_groups,
                size_estimate,
            } => {
                let (python_worker, is_one_to_one) = (*python_worker, *is_one_to_one);
                let (num_callers, num_functions) = (*num_callers, *num_functions);
                let (in_processes, in_groups) = (*in_processes, *in_groups);
                let worker = Worker::Python {
                    python_worker,
                    is_one_to_one,
                    num_callers,
                    num_functions,
                    in_processes,
                    in_groups,
                };
                (worker, size_estimate)
            }
            // The other steps leave rows unchanged.
            _ => return Ok(node),
        };
        let map = Map::new(node, worker, settings.ahead(), settings.position(pass, distance));
        let map = map.in_any_order(settings.in_any_order).with_size_estimate(size_estimate.clone());
        let map = match settings.skipper {
            Some(_) => map.numbered_from(from.numbers()?.map_or(0, |[place]| place)),
            None => map,
        };
        let map = match self {
            Self::MapPython { python_worker, is_one_to_one: false, .. } => {
                map.with_state(function_state(*python_worker, from))
            }
            _ => map,
        };
        Ok(skip_first(Box::new(map), if self.shares_checkpoints(settings) { 0 } else { from.skip() }))
    }
}

/// The state of a Python worker's function before the first task of a node that starts at a
/// checkpoint.
fn function_state(python_worker: usize, from: &Checkpoint) -> FunctionState {
    let text = from.text().or_else(|| from.states()?.get(python_worker));
    from.states().inspect(|states| states.set(python_worker, text.clone()));
    FunctionState::new(text, from.states().map(|states| (Arc::clone(states), python_worker)))
}

/// Returns the rows kept by a cache, or the rows that it will keep after a whole pass. The input
/// always runs as pass 0.
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
    // All pipelines with this cache share it, so the stages before it must not depend on which
    // pipeline runs. That is why they also start with the same function states every time.
    let states = from.states().map(|states| states.at_beginning());
    let start = |checkpoint: &Checkpoint| {
        let checkpoint = checkpoint.clone().with_states(states.clone());
        input.start(0, Settings { branch: 0, path: Path::default(), ..settings }, distance + 1, &checkpoint)
    };
    Ok(match store.get() {
        Some(cached) => Box::new(CacheReader::new(cached, next, pass)),
        None if next == 0 => Box::new(CacheWriter::new(start, Arc::clone(store), pass, settings.in_any_order)?),
        None => Box::new(UncachedTail::new(start(&from.input(0)?.advanced_by(from.skip()))?, next, pass)),
    })
}

/// Returns the rows from a file, or else the input's rows, which are written to a file if they
/// begin a pass. If `is_alone`, writes to a separate file when another process is writing the same
/// rows.
pub(super) fn cached_on_disk(
    input: &Arc<Plan>,
    store: &Arc<DiskStore>,
    pass: u64,
    settings: Settings,
    distance: usize,
    from: &Checkpoint,
    is_alone: bool,
) -> Result<Box<dyn Node>> {
    let [first] = from.numbers()?.unwrap_or_default();
    let (next, position) = (first.saturating_add(from.skip()), settings.position(pass, distance));
    let states = from.states().map(|states| states.at_beginning());
    let start = {
        let (input, path) = (Arc::clone(input), Path::default());
        move |checkpoint: &Checkpoint| {
            let checkpoint = checkpoint.clone().with_states(states.clone());
            input.start(0, Settings { branch: 0, path, batches: None, ..settings }, distance + 1, &checkpoint)
        }
    };
    // Stored rows do not include which records batches were built from.
    let entry = if settings.keeps_origins { None } else { store.open(settings.cached(), &formats_of(input)) };
    if let Some(entry) = entry {
        let read = Read::new(entry, Arc::clone(store), Box::new(start), next, settings.ahead(), position);
        return Ok(Box::new(read.in_any_order(settings.in_any_order)));
    }
    if next > 0 {
        return Ok(Box::new(UncachedTail::new(start(&from.input(0)?.advanced_by(from.skip()))?, next, position.pass)));
    }
    let is_kept = !settings.keeps_origins && !settings.is_uncounted;
    let writer = if is_kept { store.begin(settings.cached(), is_alone) } else { None };
    let input = start(&Checkpoint::default())?;
    Ok(match writer {
        Some(writer) => Box::new(Write::new(input, writer, settings.ahead(), position)),
        None => Box::new(UncachedTail::new(input, 0, position.pass)),
    })
}

/// The formats of a plan's sources.
pub(super) fn formats_of(plan: &Plan) -> Arc<Formats> {
    let mut sources = Vec::new();
    add_formats(plan, Path::default(), &mut sources);
    Arc::new(Formats::new(sources))
}

fn add_formats(plan: &Plan, path: Path, sources: &mut Vec<FormatOfFiles>) {
    match plan {
        Plan::Files(format, files) | Plan::File(format, files, ..) => {
            sources.push((path, Arc::clone(format), Arc::clone(files)));
        }
        Plan::Concat(inputs) | Plan::Mix(inputs, _) | Plan::Zip(inputs, _) => {
            inputs.iter().enumerate().for_each(|(index, input)| add_formats(input, path.part(index), sources));
        }
        Plan::Shuffled(input, _) | Plan::Pieces(input, _) | Plan::Then(input, _) | Plan::Meter { plan: input, .. } => {
            add_formats(input, path, sources);
        }
        Plan::Indexed(_) | Plan::PythonSource(_) => {}
    }
}

/// The distance between pass numbers of endless passes that are themselves repeated.
const ENDLESS: u64 = 1 << 32;

/// The number of the first of `count` passes that make up pass number `pass`.
pub(super) fn first_pass(pass: u64, count: Option<u64>) -> u64 {
    pass.wrapping_mul(count.unwrap_or(ENDLESS))
}

/// Creates the passes of `input` that make up pass number `pass`, starting at a checkpoint.
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
    let mut functions = StatefulFunctions::default();
    input.find_stateful_functions(from.states(), &mut functions);
    functions.are_cut_short &= !settings.in_any_order;
    functions.synchronous = settings.synchronous;
    functions.num_passes = match count {
        Some(count) if !settings.is_repeated => count.saturating_sub(1),
        _ => u64::MAX,
    };
    let settings = Settings { is_repeated: settings.is_repeated || count != Some(1), ..settings };
    let input = Arc::clone(input);
    let first = first_pass(pass, count);
    let next = move |number: u64, from: &Checkpoint, is_replay: bool| {
        let is_over = count.is_some_and(|count| number >= count);
        let settings = settings.replaying(is_replay);
        (!is_over).then(|| input.start(first.wrapping_add(number), settings, distance + 1, from))
    };
    let passes = Passes::new(Box::new(next), count.is_none(), distance)
        .with_function_states(functions, from.states())
        .over_shards(num_shards);
    let passes = passes.from_checkpoint(from)?;
    let skip = if passes.skips() { 0 } else { from.skip() };
    Ok(skip_first(Box::new(passes), skip))
}
