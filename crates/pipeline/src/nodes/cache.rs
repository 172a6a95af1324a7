//! Caches rows in memory, so that earlier stages run only once.

use crate::blocks::block::{Block, Pass, RowProvenance};
use crate::blocks::indexed::Indexed;
use crate::blocks::rows::Rows;
use crate::budget::{Budget, Charge};
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use crate::row_order::OrderStage;
use crate::skip_event::SkipEvent;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::sync::Mutex;
use std::sync::Arc;

/// The rows of one `cache()` stage. It lives as long as the description.
#[derive(Default)]
pub struct Store {
    passes: Mutex<StoredPasses>,
    /// Set if the rows are kept for this stage rather than for a `cache()` stage.
    kept_for: Option<OrderStage>,
}

/// The rows that earlier passes left in a store.
#[derive(Default)]
struct StoredPasses {
    whole: Option<Arc<Cached>>,
    /// The longest part of a pass that was cached before the pass was abandoned.
    begun: Option<Arc<Cached>>,
}

impl Store {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: true,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: true,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::None,
    };

    /// Creates a store for a stage that orders the rows of a source without random access.
    pub fn kept_for(stage: OrderStage) -> Self {
        Self { kept_for: Some(stage), ..Self::default() }
    }

    /// The rows of a complete pass, if there has been one.
    pub fn get(&self) -> Option<Arc<Cached>> {
        self.passes.lock().whole.clone()
    }

    fn begun(&self) -> Option<Arc<Cached>> {
        self.passes.lock().begun.clone()
    }

    fn keep_whole(&self, kept: StoredBlocks, budget: &Arc<Budget>) {
        let whole = Arc::new(Cached { kept, budget: Arc::clone(budget) });
        *self.passes.lock() = StoredPasses { whole: Some(whole), begun: None };
    }

    fn keep_begun(&self, kept: StoredBlocks, budget: Arc<Budget>) {
        let mut passes = self.passes.lock();
        let num_rows = |cached: &Arc<Cached>| cached.kept.num_rows();
        if passes.whole.is_none() && passes.begun.as_ref().map_or(0, num_rows) < kept.num_rows() {
            passes.begun = Some(Arc::new(Cached { kept, budget }));
        }
    }
}

/// All rows of a pass, or only the first ones.
pub struct Cached {
    kept: StoredBlocks,
    /// The budget that the blocks are charged to.
    budget: Arc<Budget>,
}

/// Blocks of rows.
#[derive(Clone, Default)]
struct StoredBlocks {
    blocks: Vec<Arc<Block>>,
    /// For each block, the number after its last row within the pass.
    ends: Vec<u64>,
    /// The checkpoint of each block's first row.
    checkpoints: Vec<Checkpoint>,
    /// The checkpoint after the last block.
    rest: Checkpoint,
    /// The skip events, each with the number of blocks before it.
    skip_events: Vec<(usize, SkipEvent)>,
    num_bytes: usize,
    kept_for: Option<OrderStage>,
}

impl StoredBlocks {
    /// The number of a block's first row within the pass.
    fn first(&self, block: usize) -> u64 {
        block.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }

    fn num_rows(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn too_large(&self, needed: &str, budget: &Budget) -> Error {
        let limit = budget.limit_bytes();
        let text = match self.kept_for {
            Some(stage) => format!(
                "{}: keeping all rows of the files in memory needs {needed}, expected at most the {limit} of \
                 memory_bytes. Read fewer columns, or raise options(memory_bytes=...){}",
                stage.name(),
                stage.or_window()
            ),
            None => format!(
                "cache needs {needed}, expected at most the {limit} of memory_bytes. Raise options(memory_bytes=...), \
                 cache less (select components, or cache before decoding), or remove cache"
            ),
        };
        Error::new(Code::ResourceExhausted, text)
    }
}

impl Cached {
    /// The skip events of the cached rows.
    pub fn skip_events(&self) -> impl Iterator<Item = &SkipEvent> {
        self.kept.skip_events.iter().map(|(_, skip_event)| skip_event)
    }

    /// Charges the rows to the budget of another iteration. Fails if they don't fit.
    pub fn charge(&self, budget: &Arc<Budget>) -> Result<Option<Charge>> {
        match Arc::ptr_eq(&self.budget, budget) {
            true => Ok(None),
            false if self.kept.num_bytes > budget.limit_bytes() => {
                Err(self.kept.too_large(&format!("{} bytes", self.kept.num_bytes), budget))
            }
            false => Ok(Some(budget.charge(self.kept.num_bytes))),
        }
    }
}

/// Returns the rows of its input and caches them. If an earlier pass was abandoned, its cached rows
/// come first.
pub struct CacheWriter {
    input: Box<dyn Node>,
    store: Arc<Store>,
    pass: Pass,
    kept: StoredBlocks,
    /// The numbers of the next cached block and the next skip event to return.
    next: (usize, usize),
    budget: Option<Arc<Budget>>,
    /// Rows cached by another iteration, charged once to this iteration's budget.
    begun: Option<Arc<Cached>>,
    _charge: Option<Charge>,
    /// True if other passes can continue where this pass stops.
    is_ordered: bool,
}

impl CacheWriter {
    /// Returns and caches the rows of a whole pass in `store`. The rows are assigned to `pass`.
    /// `start` creates the input node at a checkpoint. If `in_any_order`, the rows may arrive in
    /// any order.
    pub fn new(
        start: impl FnOnce(&Checkpoint) -> Result<Box<dyn Node>>,
        store: Arc<Store>,
        pass: Pass,
        in_any_order: bool,
    ) -> Result<Self> {
        let begun = if in_any_order { None } else { store.begun() };
        let kept = begun.as_ref().map(|begun| begun.kept.clone()).unwrap_or_default();
        let kept = StoredBlocks { kept_for: store.kept_for, ..kept };
        let input = start(&kept.rest)?;
        let is_ordered = !in_any_order;
        Ok(Self { input, store, pass, kept, next: (0, 0), budget: None, begun, _charge: None, is_ordered })
    }

    fn keep(&mut self, rows: &Rows, budget: &Arc<Budget>) -> Result<()> {
        let block = match rows.whole_block() {
            Some(block) => Arc::clone(block),
            // After the rows of an earlier pass, the first rows may be the rest of a block.
            None => {
                let copy = rows.copy()?;
                let charge = budget.charge(copy.held_bytes());
                Arc::new(copy.charged(charge))
            }
        };
        let kept = &mut self.kept;
        kept.num_bytes += block.held_bytes();
        kept.blocks.push(block);
        kept.checkpoints.push(rows.checkpoint(0));
        kept.rest = rows.checkpoint(rows.len());
        kept.ends.push(kept.num_rows() + rows.len() as u64);
        match kept.num_bytes > budget.limit_bytes() {
            true => Err(kept.too_large(&format!("more than {} bytes", kept.num_bytes), budget)),
            false => Ok(()),
        }
    }

    /// Returns the next cached output that has not been returned yet.
    fn kept(&mut self) -> Option<Poll> {
        let (block, skip_event) = &mut self.next;
        if let Some((num_blocks, event)) = self.kept.skip_events.get(*skip_event)
            && num_blocks == block
        {
            *skip_event += 1;
            return Some(Poll::SkipEvent(event.clone()));
        }
        (*block < self.kept.blocks.len()).then(|| {
            *block += 1;
            Poll::Ready(self.kept.rows(*block - 1, self.pass))
        })
    }
}

impl Node for CacheWriter {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if self.budget.is_none() {
            self.budget = Some(Arc::clone(context.budget));
            if let Some(begun) = self.begun.take() {
                self._charge = begun.charge(context.budget)?;
            }
        }
        if let Some(poll) = self.kept() {
            return Ok(poll);
        }
        match self.input.pull(context)? {
            Poll::Ready(rows) => self.keep(&rows, context.budget)?,
            Poll::SkipEvent(skip_event) => self.kept.skip_events.push((self.kept.blocks.len(), skip_event)),
            Poll::Pending => return Ok(Poll::Pending),
            Poll::End => {
                self.store.keep_whole(std::mem::take(&mut self.kept), context.budget);
                return Ok(Poll::End);
            }
        }
        self.kept().ok_or_else(|| Error::internal("cache: there are no cached rows"))
    }
}

impl Drop for CacheWriter {
    /// Keeps the cached rows if the pass is abandoned.
    fn drop(&mut self) {
        let (Some(budget), true) = (self.budget.take(), self.is_ordered) else { return };
        let mut kept = std::mem::take(&mut self.kept);
        if kept.num_bytes > budget.limit_bytes() {
            return;
        }
        // Skip events after the last row are created again when the later rows are computed.
        let num_blocks = kept.blocks.len();
        kept.skip_events.retain(|(blocks_before, _)| *blocks_before < num_blocks);
        self.store.keep_begun(kept, budget);
    }
}

impl StoredBlocks {
    /// Returns all rows of a block, assigned to a pass.
    fn rows(&self, index: usize, pass: Pass) -> Rows {
        let block = &self.blocks[index];
        let provenance = block.provenance().in_pass(pass);
        let checkpoint = Checkpoint::new([self.first(index)], [self.checkpoints[index].clone()]);
        Rows::all(block.share().with_provenance(provenance)).with_checkpoint(checkpoint)
    }
}

/// Returns the rows of its input from some row on, assigned to a pass. Nothing is cached, because
/// the pass is incomplete.
pub struct UncachedTail {
    input: Box<dyn Node>,
    next: u64,
    pass: Pass,
}

impl UncachedTail {
    /// Starts with row `next`.
    pub fn new(input: Box<dyn Node>, next: u64, pass: Pass) -> Self {
        Self { input, next, pass }
    }
}

impl Node for UncachedTail {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        let poll = self.input.pull(context)?;
        let Poll::Ready(rows) = poll else { return Ok(poll) };
        let checkpoint = Checkpoint::new([self.next], [rows.checkpoint(0)]);
        self.next += rows.len() as u64;
        let provenance = rows.provenance().in_pass(self.pass);
        Ok(Poll::Ready(rows.with_provenance(provenance)?.with_checkpoint(checkpoint)))
    }
}

/// Returns the cached rows.
pub struct CacheReader {
    cached: Arc<Cached>,
    /// The number of the next block.
    next: usize,
    /// The number of the next skip event.
    next_skip_event: usize,
    /// The number of rows to skip in the next block.
    skip: usize,
    pass: Pass,
    is_charged: bool,
    charge: Option<Charge>,
}

impl CacheReader {
    /// Returns the rows from `first` on, assigned to `pass`.
    pub fn new(cached: Arc<Cached>, first: u64, pass: Pass) -> Self {
        let next = cached.kept.ends.partition_point(|end| *end <= first);
        let skip = (first - cached.kept.first(next)) as usize;
        let next_skip_event = cached.kept.skip_events.partition_point(|(num_blocks, _)| *num_blocks < next);
        Self { cached, next, next_skip_event, skip, pass, is_charged: false, charge: None }
    }
}

impl Node for CacheReader {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if !std::mem::replace(&mut self.is_charged, true) {
            self.charge = self.cached.charge(context.budget)?;
        }
        if let Some((num_blocks, skip_event)) = self.cached.kept.skip_events.get(self.next_skip_event)
            && *num_blocks == self.next
        {
            self.next_skip_event += 1;
            return Ok(Poll::SkipEvent(skip_event.clone()));
        }
        if self.next == self.cached.kept.blocks.len() {
            return Ok(Poll::End);
        }
        let mut rows = self.cached.kept.rows(self.next, self.pass);
        self.next += 1;
        rows.take_front(std::mem::take(&mut self.skip));
        Ok(Poll::Ready(rows))
    }
}

/// Access to the cached rows by number.
pub struct CachedRows {
    cached: Arc<Cached>,
    _charge: Option<Charge>,
}

impl CachedRows {
    /// Charges the rows to the budget.
    pub fn new(cached: Arc<Cached>, budget: &Arc<Budget>) -> Result<Self> {
        let charge = cached.charge(budget)?;
        Ok(Self { cached, _charge: charge })
    }
}

impl Indexed for CachedRows {
    fn len(&self) -> u64 {
        self.cached.kept.num_rows()
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let kept = &self.cached.kept;
        let mut rows = Rows::new();
        for number in numbers {
            let block = kept.ends.partition_point(|end| end <= number);
            rows.push(&kept.blocks[block], (number - kept.first(block)) as usize, 1);
        }
        rows.copy()
    }

    fn row_provenance(&self, number: u64) -> Option<RowProvenance> {
        let kept = &self.cached.kept;
        let block = kept.ends.partition_point(|end| *end <= number);
        kept.blocks.get(block)?.row_provenance((number - kept.first(block)) as usize)
    }

    fn row_bytes(&self) -> usize {
        self.cached.kept.num_bytes / usize::try_from(self.len().max(1)).unwrap_or(usize::MAX)
    }
}
