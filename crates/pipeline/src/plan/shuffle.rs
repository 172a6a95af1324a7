//! Plans a full shuffle. Rows are shuffled at their sources and then pass through the other
//! steps.

use crate::blocks::block::{FileProvenance, Pass, RowId, RowProvenance};
use crate::blocks::indexed::Indexed;
use crate::blocks::row_id::KeptRecords;
use crate::blocks::windows::Windowing;
use crate::checkpoint::Checkpoint;
use crate::node::Node;
use crate::nodes::cache::Store;
use crate::nodes::count_rows::CountRows;
use crate::nodes::interleave::{Interleave, Permuted};
use crate::nodes::shard::Even;
use crate::nodes::sources::indexed::{IndexedRows, Order};
use crate::nodes::sources::part_rows::{Reached, Selection};
use crate::nodes::sources::shuffled::{RowAccess, Scans, Shuffled};
use crate::nodes::sources::window_rows::WindowRows;
use crate::nodes::take::skip_first;
use crate::nodes::zip::Zip;
use crate::permutation::Permutation;
use crate::plan::settings::Settings;
use crate::plan::step::{cached_on_disk, formats_of};
use crate::plan::{Plan, Sampling, Shuffle, Step};
use crate::row_order::{Draws, OrderStage, RowOrder, WeightedRows};
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// Rows with random access, and the steps after them.
struct Leaf {
    rows: LeafRows,
    settings: Settings,
    later: Vec<LaterStep>,
    /// For each split after the rows, the records whose rows it keeps.
    splits: Vec<KeptRecords>,
}

enum LeafRows {
    Source(Arc<Plan>),
    /// The rows of several plans side by side. If the flag is true, all must have the same number
    /// of rows.
    Zip(Vec<Vec<Leaf>>, bool),
    /// Windows of rows.
    Windows(Box<Leaf>, Arc<Windowing>),
}

#[expect(clippy::large_enum_variant, reason = "a plan has few of them")]
enum LaterStep {
    Step(Step, Settings),
    /// Counts the rows for a stage.
    CountRows(usize),
}

/// The part of an order's numbers that begins with this one.
#[derive(Clone)]
struct Numbers {
    order: Arc<RowOrder>,
    first: u64,
}

/// Creates the nodes for pass number `pass` over all rows of `input`, starting at a checkpoint.
/// Each step of `input` must return one row per input row.
pub(super) fn shuffled(
    input: &Arc<Plan>,
    shuffle: &Shuffle,
    pass: u64,
    settings: Settings,
    distance: usize,
    from: Checkpoint,
) -> Box<dyn Node> {
    let mut leaves = leaves(input, settings);
    if shuffle.lookup.is_some() {
        // Rows are counted where they are read.
        leaves.iter_mut().for_each(|leaf| leaf.later.clear());
    }
    let mut access = Vec::new();
    leaves.iter().for_each(|leaf| leaf.add_access(shuffle, pass, distance + 1, &from, &mut access));
    let (seed, late, sampling) = (shuffle.seed, shuffle.lookup.clone(), shuffle.sampling.clone());
    let begin = move |rows: Vec<Arc<dyn Indexed>>| {
        let mut rows = rows.into_iter();
        let mut reached = leaves.iter().map(|leaf| leaf.reached(&mut rows, pass)).collect::<Result<Vec<_>>>()?;
        for reached in &mut reached {
            if let (Some(late), Reached::Rows(rows)) = (&late, reached) {
                *rows = Arc::new(late.set(Arc::clone(rows)));
            }
        }
        let num_rows = Reached::len_of(&reached);
        let order = match &sampling {
            Some(sampling) => RowOrder::Drawn(sampling.draws(num_rows, seed, pass)?),
            None => RowOrder::Permuted(Permutation::new(num_rows, seed, pass)),
        };
        begin(&leaves, &reached, &Numbers { order: Arc::new(order), first: 0 }, pass, distance, &from)
    };
    let stage = if shuffle.sampling.is_some() { OrderStage::Sample } else { OrderStage::Shuffle };
    Box::new(Shuffled::new(access, Box::new(begin), stage))
}

impl Sampling {
    /// Returns the draws for pass number `pass` over `num_rows` rows.
    fn draws(&self, num_rows: u64, seed: u64, pass: u64) -> Result<Draws> {
        let Self { weights, num_draws, shard: (first, step), even } = self;
        let (whole, rest) = (num_rows / step, num_rows % step);
        let (num_own, last) = match even {
            Even::Drop => (whole, None),
            // The shard repeats a row of the others.
            Even::Pad if 0 < rest && rest <= *first => (whole + 1, Some(num_rows - rest + first % rest)),
            Even::Pad | Even::Uneven => (whole + u64::from(*first < rest), None),
        };
        if weights.len() != num_own {
            return Err(Error::invalid_argument(format!(
                "sample: there are {num_own} examples, but {} weights. Pass one weight for each example that reaches \
                 sample, in the order of the source",
                weights.len()
            )));
        }
        let num_draws = num_draws.unwrap_or(num_own);
        if num_own == 0 && num_draws > 0 {
            return Err(Error::invalid_argument(format!(
                "sample: there are no examples to draw {num_draws} from. Check the stages before it"
            )));
        }
        let rows = WeightedRows { num_rows, first: *first, step: *step, last };
        Ok(Draws::new(Arc::clone(weights), rows, num_draws, seed, pass))
    }
}

/// Lists the sources of a plan's rows, in order.
fn leaves(plan: &Arc<Plan>, settings: Settings) -> Vec<Leaf> {
    match &**plan {
        Plan::Concat(inputs) => {
            let settings = settings.unaligned();
            inputs.iter().enumerate().flat_map(|(index, input)| leaves(input, settings.part(index))).collect()
        }
        Plan::Zip(inputs, is_strict) => {
            let parts = inputs.iter().enumerate().map(|(index, input)| leaves(input, settings.part_of_zip(index)));
            let rows = LeafRows::Zip(parts.collect(), *is_strict);
            vec![Leaf { rows, settings, later: Vec::new(), splits: Vec::new() }]
        }
        Plan::Meter { plan, stage, counts_rows } => {
            let mut leaves = leaves(plan, settings.of_stage(*stage));
            if *counts_rows {
                leaves.iter_mut().for_each(|leaf| leaf.later.push(LaterStep::CountRows(*stage)));
            }
            leaves
        }
        Plan::Then(input, step @ Step::Windows(windowing)) => {
            // Only one source may come before windows.
            let windows = |leaf: Leaf| {
                let settings = leaf.settings;
                let rows = LeafRows::Windows(Box::new(leaf), Arc::clone(windowing));
                Leaf { rows, settings, later: Vec::new(), splits: Vec::new() }
            };
            leaves(input, settings.through(step)).into_iter().map(windows).collect()
        }
        // To later steps, the cached rows are the source.
        Plan::Then(input, step) if !step.facts().is_cache => {
            let settings = settings.through(step);
            let mut leaves = leaves(input, settings);
            leaves.iter_mut().for_each(|leaf| leaf.push(step, settings));
            leaves
        }
        _ => {
            let rows = LeafRows::Source(Arc::clone(plan));
            // Cached rows have known positions.
            let settings = if matches!(**plan, Plan::Then(..)) { settings } else { settings.unaligned() };
            vec![Leaf { rows, settings, later: Vec::new(), splits: Vec::new() }]
        }
    }
}

impl Leaf {
    /// Adds a step after the rows. Splits select rows by number, before any row is read.
    fn push(&mut self, step: &Step, settings: Settings) {
        let Step::Map(stages, size_estimate) = step else {
            return self.later.push(LaterStep::Step(step.clone(), settings));
        };
        self.splits.extend(stages.iter().filter_map(|stage| stage.kept_records().cloned()));
        let others: Arc<[_]> = stages.iter().filter(|stage| stage.kept_records().is_none()).cloned().collect();
        if !others.is_empty() {
            self.later.push(LaterStep::Step(Step::Map(others, size_estimate.clone()), settings));
        }
    }

    /// Adds how to access the rows of each source.
    fn add_access(
        &self,
        shuffle: &Shuffle,
        pass: u64,
        distance: usize,
        from: &Checkpoint,
        access: &mut Vec<RowAccess>,
    ) {
        match &self.rows {
            LeafRows::Source(source) => {
                access.push(self.access(source, shuffle, access.len(), pass, distance, from));
            }
            LeafRows::Zip(parts, _) => {
                parts.iter().flatten().for_each(|leaf| leaf.add_access(shuffle, pass, distance, from, access));
            }
            LeafRows::Windows(leaf, _) => leaf.add_access(shuffle, pass, distance, from, access),
        }
    }

    fn access(
        &self,
        source: &Arc<Plan>,
        shuffle: &Shuffle,
        part: usize,
        pass: u64,
        distance: usize,
        from: &Checkpoint,
    ) -> RowAccess {
        let settings = self.settings;
        match &**source {
            Plan::Indexed(rows) => RowAccess::Known(Arc::clone(rows)),
            Plan::Then(_, Step::Cache(store)) => match source.start(pass, settings, distance, &from.beginning()) {
                Ok(node) => RowAccess::Cache(node, Arc::clone(store)),
                Err(error) => RowAccess::Refused(error),
            },
            Plan::Then(input, Step::CacheOnDisk(store)) => {
                let (used, from) = (settings.cached(), from.beginning());
                let formats = formats_of(input);
                // Files do not store which records a batch was built from.
                let is_kept = !settings.keeps_origins && store.open(used, &formats).is_some();
                let is_filled = !settings.keeps_origins && !settings.is_uncounted;
                let access = if is_kept {
                    Ok(RowAccess::Stored(None, Arc::clone(store), used, formats))
                } else if is_filled {
                    let node = cached_on_disk(input, store, pass, settings, distance, &from, true);
                    node.map(|node| RowAccess::Stored(Some(node), Arc::clone(store), used, formats))
                } else {
                    let memory = Arc::new(Store::default());
                    let node = Step::Cache(Arc::clone(&memory)).start(input, pass, settings, distance, &from);
                    node.map(|node| RowAccess::Cache(node, memory))
                };
                access.unwrap_or_else(RowAccess::Refused)
            }
            Plan::Files(format, files) => match Arc::clone(format).random_access() {
                Some(access) => {
                    let files = files.iter().map(|file| file.in_pass(settings.pass(pass))).collect();
                    let kept = (Arc::clone(&shuffle.kept), part);
                    let index_files = Arc::clone(&shuffle.index_files);
                    let position = settings.position(pass, distance);
                    RowAccess::Files(Box::new(Scans::new(
                        access,
                        files,
                        (kept, index_files),
                        settings.ahead(),
                        position,
                    )))
                }
                None => RowAccess::Refused(Error::internal("this format has no random access to its records")),
            },
            _ => RowAccess::Refused(Error::internal("a source has no random access to its rows")),
        }
    }

    /// Returns the rows by number, without those that splits drop. `rows` yields the rows of each
    /// source.
    fn reached(&self, rows: &mut dyn Iterator<Item = Arc<dyn Indexed>>, pass: u64) -> Result<Reached> {
        let mut reached = match &self.rows {
            LeafRows::Source(_) => Reached::Rows(rows.next().ok_or_else(|| Error::internal("a source has no rows"))?),
            LeafRows::Zip(parts, is_strict) => {
                let part = |leaves: &Vec<Leaf>| leaves.iter().map(|leaf| leaf.reached(rows, pass)).collect();
                Reached::zip(parts.iter().map(part).collect::<Result<Vec<_>>>()?, *is_strict)?
            }
            LeafRows::Windows(leaf, windowing) => {
                let stages = leaf.stages()?;
                match leaf.reached(rows, pass)? {
                    Reached::Rows(rows) => {
                        Reached::Rows(Arc::new(WindowRows::new(rows, stages, Arc::clone(windowing))?))
                    }
                    Reached::Zip(_) => return Err(Error::internal("zipped rows cannot form windows")),
                }
            }
        };
        if !self.splits.is_empty() {
            let mut row_ids = self.row_ids(&reached, pass);
            let mut is_kept = |_| {
                let row_id = row_ids.next().ok_or_else(|| Error::internal("a row has no ID"))??;
                Ok(self.splits.iter().all(|split| split.contain(&row_id)))
            };
            let selection = Selection::new(reached.len(), &mut is_kept)?;
            drop(row_ids);
            reached = reached.selected(&Arc::new(selection), 0);
        }
        Ok(reached)
    }

    /// The work on each row, which must be native.
    fn stages(&self) -> Result<Vec<Arc<dyn Stage>>> {
        let mut stages = Vec::new();
        for later in &self.later {
            match later {
                LaterStep::Step(Step::Map(work, _), _) => stages.extend(work.iter().cloned()),
                LaterStep::Step(..) => return Err(Error::internal("a step before windows has no random access")),
                LaterStep::CountRows(_) => {}
            }
        }
        Ok(stages)
    }

    /// The identities of the rows, in order. Zipped rows have the identity of the first part's row.
    fn row_ids<'a>(&'a self, reached: &'a Reached, pass: u64) -> Box<dyn Iterator<Item = Result<RowId>> + 'a> {
        match (&self.rows, reached) {
            (LeafRows::Zip(leaves, _), Reached::Zip(parts)) => {
                let first = leaves.iter().zip(parts).take(1).flat_map(|(leaves, part)| leaves.iter().zip(part));
                Box::new(first.flat_map(move |(leaf, reached)| leaf.row_ids(reached, pass)))
            }
            (_, Reached::Rows(rows)) => Box::new(row_ids(&**rows, self.settings.pass(pass))),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// Returns the rows in an order, after all steps, starting at a checkpoint.
    fn start(
        &self,
        reached: &Reached,
        numbers: &Numbers,
        pass: u64,
        distance: usize,
        from: &Checkpoint,
    ) -> Result<Box<dyn Node>> {
        let (settings, num_later) = (self.settings, self.later.len());
        // The checkpoint of each step's output, starting with the last step and ending with the
        // source.
        let mut checkpoints = vec![from.clone()];
        for later in self.later.iter().rev() {
            let checkpoint = &checkpoints[checkpoints.len() - 1];
            checkpoints.push(match later {
                LaterStep::Step(step, settings) => step.before(checkpoint, *settings)?,
                LaterStep::CountRows(_) => checkpoint.clone(),
            });
        }
        let checkpoint = &checkpoints[num_later];
        let (distance_of_rows, position) = (distance + num_later, settings.position(pass, distance + num_later));
        let source: Box<dyn Node> = match (&self.rows, reached) {
            (LeafRows::Zip(leaves, is_strict), Reached::Zip(parts)) => {
                let start = |(index, first): (usize, &Checkpoint)| {
                    begin(&leaves[index], &parts[index], numbers, pass, distance_of_rows + 1, first)
                };
                Zip::from_checkpoint(checkpoint, leaves.len(), start, *is_strict, settings.ahead(), position)?
            }
            (_, Reached::Rows(rows)) => {
                let order = match rows.len() == numbers.order.num_rows() {
                    true => Order::Whole(Arc::clone(&numbers.order)),
                    false => Order::Part(Arc::clone(&numbers.order), numbers.first),
                };
                let indexed_rows = IndexedRows::new(Arc::clone(rows), order, settings.ahead(), position)
                    .in_any_order(settings.in_any_order)
                    .in_batches(settings.batches, pass);
                skip_first(Box::new(indexed_rows.from_checkpoint(checkpoint)?), checkpoint.skip())
            }
            _ => return Err(Error::internal("zipped rows come from a single source")),
        };
        let start = |node, (index, later): (usize, &LaterStep)| -> Result<Box<dyn Node>> {
            let last = num_later - 1 - index;
            match later {
                LaterStep::Step(step, settings) => step.map(node, pass, *settings, distance + last, &checkpoints[last]),
                LaterStep::CountRows(stage) => Ok(Box::new(CountRows::new(node, *stage))),
            }
        };
        self.later.iter().enumerate().try_fold(source, start)
    }
}

/// Creates the nodes of concatenated rows that have random access, starting at a checkpoint.
fn begin(
    leaves: &[Leaf],
    reached: &[Reached],
    numbers: &Numbers,
    pass: u64,
    distance: usize,
    from: &Checkpoint,
) -> Result<Box<dyn Node>> {
    if let ([leaf], [reached]) = (leaves, reached) {
        return leaf.start(reached, numbers, pass, distance, from);
    }
    let Numbers { order, first } = numbers;
    let (mut ends, mut nodes) = (Vec::new(), Vec::new());
    for (index, (leaf, reached)) in leaves.iter().zip(reached).enumerate() {
        let first = ends.last().copied().unwrap_or(*first);
        ends.push(first + reached.len());
        let numbers = Numbers { order: Arc::clone(order), first };
        nodes.push(leaf.start(reached, &numbers, pass, distance + 1, &from.input(index)?)?);
    }
    let interleave = Interleave::new(nodes, Box::new(Permuted::new(Arc::clone(order), *first, ends)));
    let synchronous = leaves.iter().any(|leaf| leaf.settings.synchronous());
    Ok(skip_first(Box::new(interleave.synchronous(synchronous).from_checkpoint(from)?), from.skip()))
}

/// The identities of rows with random access, in order.
fn row_ids(rows: &dyn Indexed, pass: Pass) -> impl Iterator<Item = Result<RowId>> {
    /// The number of rows to read at a time for their identities.
    const ROWS_READ: u64 = 1024;
    let unknown = || Error::internal("split: the record of a row is unknown");
    let mut file: Option<(Arc<FileProvenance>, Arc<FileProvenance>)> = None;
    let mut row_id = move |row: RowProvenance| {
        // Most rows are from the same file as the previous one.
        let passed = match &file {
            Some((before, passed)) if Arc::ptr_eq(before, &row.file) => Arc::clone(passed),
            _ => row.file.in_pass(pass),
        };
        file = Some((row.file, Arc::clone(&passed)));
        RowProvenance { file: passed, ..row }.row_id()
    };
    let provenances = (0..rows.len()).step_by(ROWS_READ as usize).flat_map(move |first| {
        let numbers: Vec<_> = (first..rows.len().min(first + ROWS_READ)).collect();
        let ids: Vec<_> = match rows.row_provenance(first) {
            Some(_) => numbers.iter().map(|number| rows.row_provenance(*number).ok_or_else(unknown)).collect(),
            None => match rows.read(&numbers) {
                Ok(block) => (0..numbers.len()).map(|row| block.row_provenance(row).ok_or_else(unknown)).collect(),
                Err(error) => vec![Err(error)],
            },
        };
        ids
    });
    provenances.map(move |row| row.and_then(&mut row_id))
}
