//! Plans a full shuffle: the rows are shuffled at their sources, and the later steps follow.

use crate::checkpoint::Checkpoint;
use crate::node::Node;
use crate::nodes::cache::Store;
use crate::nodes::counted::Counted;
use crate::nodes::interleave::{Interleave, Permuted};
use crate::nodes::sources::indexed::{Indexed, IndexedRows, Order};
use crate::nodes::sources::shuffled::{RowAccess, Scans, Shuffled};
use crate::nodes::take::behind;
use crate::permutation::Permutation;
use crate::plan::settings::Settings;
use crate::plan::step::{cached_on_disk, formats_of};
use crate::plan::{Plan, Shuffle, Step};
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// A source with random access to all its rows, and the nodes after it.
struct Leaf {
    source: Arc<Plan>,
    settings: Settings,
    behind: Vec<Behind>,
}

enum Behind {
    Step(Step, Settings),
    /// Counts the rows as the rows of a stage.
    Counted(usize),
}

/// The nodes for pass number `pass` over all rows of `input`, whose steps must make one row of
/// each, from a state on.
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
        leaves.iter_mut().for_each(|leaf| leaf.behind.clear());
    }
    let access = |(part, leaf): (usize, &Leaf)| leaf.access(shuffle, part, pass, distance + 1, &from);
    let lookup = leaves.iter().enumerate().map(access).collect();
    let (seed, late) = (shuffle.seed, shuffle.lookup.clone());
    let begin = move |mut rows: Vec<Arc<dyn Indexed>>| {
        if let Some(late) = &late {
            rows.iter_mut().for_each(|rows| *rows = Arc::new(late.set(Arc::clone(rows))));
        }
        begin(&leaves, rows, (seed, pass), distance, &from)
    };
    Box::new(Shuffled::new(lookup, Box::new(begin)))
}

/// The sources of a plan, in order.
fn leaves(plan: &Arc<Plan>, settings: Settings) -> Vec<Leaf> {
    match &**plan {
        Plan::Concat(inputs) => {
            inputs.iter().enumerate().flat_map(|(index, input)| leaves(input, settings.part(index))).collect()
        }
        Plan::Metered { plan, stage, counts_rows } => {
            let mut leaves = leaves(plan, settings.of_stage(*stage));
            if *counts_rows {
                leaves.iter_mut().for_each(|leaf| leaf.behind.push(Behind::Counted(*stage)));
            }
            leaves
        }
        // The cached rows are the source for later steps.
        Plan::Then(input, step) if !matches!(step, Step::Cache(_) | Step::CacheOnDisk(_)) => {
            let mut leaves = leaves(input, settings);
            leaves.iter_mut().for_each(|leaf| leaf.behind.push(Behind::Step(step.clone(), settings)));
            leaves
        }
        _ => vec![Leaf { source: Arc::clone(plan), settings, behind: Vec::new() }],
    }
}

impl Leaf {
    fn access(&self, shuffle: &Shuffle, part: usize, pass: u64, distance: usize, from: &Checkpoint) -> RowAccess {
        let settings = self.settings;
        match &*self.source {
            Plan::Indexed(rows) => RowAccess::Known(Arc::clone(rows)),
            Plan::Then(_, Step::Cache(store)) => match self.source.start(pass, settings, distance, &from.beginning()) {
                Ok(node) => RowAccess::Cache(node, Arc::clone(store)),
                Err(error) => RowAccess::Refused(error),
            },
            Plan::Then(input, Step::CacheOnDisk(store)) => {
                let (used, from) = (settings.cached(), from.beginning());
                let formats = formats_of(input);
                // A file does not keep the records that batches are made of.
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

    /// The rows in an order, after all steps, from a checkpoint on.
    fn start(
        &self,
        rows: Arc<dyn Indexed>,
        order: Order,
        pass: u64,
        distance: usize,
        from: &Checkpoint,
    ) -> Result<Box<dyn Node>> {
        let (settings, num_behind) = (self.settings, self.behind.len());
        // The checkpoint of each step's output, the last step first; then the source's.
        let mut checkpoints = vec![from.clone()];
        for behind in self.behind.iter().rev() {
            let checkpoint = &checkpoints[checkpoints.len() - 1];
            checkpoints.push(match behind {
                Behind::Step(step, settings) => step.before(checkpoint, *settings)?,
                Behind::Counted(_) => checkpoint.clone(),
            });
        }
        let checkpoint = &checkpoints[num_behind];
        let position = settings.position(pass, distance + num_behind);
        let indexed_rows = IndexedRows::new(rows, order, settings.ahead(), position)
            .in_any_order(settings.in_any_order)
            .in_batches(settings.batches, pass);
        let source = behind(Box::new(indexed_rows.from_checkpoint(checkpoint)?), checkpoint.skip());
        let start = |node, (index, behind): (usize, &Behind)| -> Box<dyn Node> {
            let last = num_behind - 1 - index;
            match behind {
                Behind::Step(step, settings) => step.map(node, pass, *settings, distance + last, &checkpoints[last]),
                Behind::Counted(stage) => Box::new(Counted::new(node, *stage)),
            }
        };
        Ok(self.behind.iter().enumerate().fold(source, start))
    }
}

/// The nodes, once random access to the rows of each source is ready.
fn begin(
    leaves: &[Leaf],
    rows: Vec<Arc<dyn Indexed>>,
    (seed, pass): (u64, u64),
    distance: usize,
    from: &Checkpoint,
) -> Result<Box<dyn Node>> {
    let order = Arc::new(Permutation::new(rows.iter().map(|rows| rows.len()).sum(), seed, pass));
    if let ([leaf], [rows]) = (leaves, &rows[..]) {
        return leaf.start(Arc::clone(rows), Order::Permuted(order), pass, distance, from);
    }
    let mut ends = Vec::new();
    let mut nodes = Vec::new();
    for (index, (leaf, rows)) in leaves.iter().zip(rows).enumerate() {
        let first = ends.last().copied().unwrap_or(0);
        ends.push(first + rows.len());
        let order = Order::Part(Arc::clone(&order), first);
        nodes.push(leaf.start(rows, order, pass, distance + 1, &from.input(index)?)?);
    }
    let interleave = Interleave::new(nodes, Box::new(Permuted::new(order, ends)));
    Ok(Box::new(interleave.in_step(leaves.iter().any(|leaf| leaf.settings.in_step())).from_checkpoint(from)?))
}
