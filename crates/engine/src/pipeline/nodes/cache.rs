//! Rows that are kept in memory after the first whole pass over them.

use crate::error::{Code, Error, Result};
use crate::pipeline::block::{Block, Pass};
use crate::pipeline::budget::{Budget, Charge};
use crate::pipeline::node::{Context, Node, Poll};
use crate::pipeline::nodes::sampled::Indexed;
use crate::pipeline::rows::Rows;
use crate::sync::Mutex;
use std::sync::Arc;

/// What is kept of one `cache()`: nothing before the first whole pass. Lives as long as the description.
#[derive(Default)]
pub struct Store(Mutex<Option<Arc<Cached>>>);

impl Store {
    /// The rows, if they are there.
    pub fn get(&self) -> Option<Arc<Cached>> {
        self.0.lock().clone()
    }
}

/// All rows of a pass.
pub struct Cached {
    blocks: Vec<Arc<Block>>,
    /// For each block the number behind its last row.
    ends: Vec<u64>,
    num_bytes: usize,
    /// What the blocks are charged to.
    budget: Arc<Budget>,
}

impl Cached {
    /// Charges the rows to the budget of another iteration. Fails if they do not fit.
    pub fn charge(&self, budget: &Arc<Budget>) -> Result<Option<Charge>> {
        match Arc::ptr_eq(&self.budget, budget) {
            true => Ok(None),
            false if self.num_bytes > budget.limit_bytes() => {
                Err(too_large(&format!("{} bytes", self.num_bytes), budget))
            }
            false => Ok(Some(budget.charge(self.num_bytes))),
        }
    }
}

fn too_large(needed: &str, budget: &Budget) -> Error {
    let text = format!(
        "cache needs {needed}, expected at most the {} of memory_bytes. Raise options(memory_bytes=...), keep less (select \
         components, cache before the examples are decoded), or leave cache out",
        budget.limit_bytes()
    );
    Error::new(Code::ResourceExhausted, text)
}

/// Gives the rows of its input, which it keeps.
pub struct Fill {
    input: Box<dyn Node>,
    store: Arc<Store>,
    pass: Pass,
    blocks: Vec<Arc<Block>>,
    ends: Vec<u64>,
    num_bytes: usize,
}

impl Fill {
    /// The rows of `input`, a whole pass of which is kept in `store`. They are given as those of `pass`.
    pub fn new(input: Box<dyn Node>, store: Arc<Store>, pass: Pass) -> Self {
        Self { input, store, pass, blocks: Vec::new(), ends: Vec::new(), num_bytes: 0 }
    }

    fn keep(&mut self, rows: &Rows, budget: &Budget) -> Result<()> {
        let missing = || Error::internal("cache: the rows are no whole block");
        let block = rows.whole_block().ok_or_else(missing)?;
        self.num_bytes += block.held_bytes();
        self.blocks.push(Arc::clone(block));
        self.ends.push(self.ends.last().copied().unwrap_or(0) + rows.len() as u64);
        match self.num_bytes > budget.limit_bytes() {
            true => Err(too_large(&format!("more than {} bytes", self.num_bytes), budget)),
            false => Ok(()),
        }
    }
}

impl Node for Fill {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        let poll = self.input.pull(context)?;
        match &poll {
            Poll::Ready(rows) => {
                self.keep(rows, context.budget)?;
                return Ok(Poll::Ready(in_pass(&self.blocks[self.blocks.len() - 1], self.pass)));
            }
            Poll::End => {
                let (blocks, ends) = (std::mem::take(&mut self.blocks), std::mem::take(&mut self.ends));
                let budget = Arc::clone(context.budget);
                *self.store.0.lock() = Some(Arc::new(Cached { blocks, ends, num_bytes: self.num_bytes, budget }));
            }
            Poll::Pending => {}
        }
        Ok(poll)
    }
}

/// All rows of a block, as those of a pass.
fn in_pass(block: &Arc<Block>, pass: Pass) -> Rows {
    let origins = block.origins().in_pass(pass);
    Rows::all(block.share().with_origins(origins))
}

/// Gives the rows that are kept.
pub struct Replay {
    cached: Arc<Cached>,
    next: usize,
    pass: Pass,
    charge: Option<Charge>,
}

impl Replay {
    /// The rows as those of `pass`.
    pub fn new(cached: Arc<Cached>, pass: Pass) -> Self {
        Self { cached, next: 0, pass, charge: None }
    }
}

impl Node for Replay {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if self.next == 0 {
            self.charge = self.cached.charge(context.budget)?;
        }
        let Some(block) = self.cached.blocks.get(self.next) else { return Ok(Poll::End) };
        self.next += 1;
        Ok(Poll::Ready(in_pass(block, self.pass)))
    }
}

/// The rows that are kept, by their numbers.
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
        self.cached.ends.last().copied().unwrap_or(0)
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let Cached { blocks, ends, .. } = &*self.cached;
        let mut rows = Rows::new();
        for number in numbers {
            let block = ends.partition_point(|end| end <= number);
            let first = block.checked_sub(1).map_or(0, |before| ends[before]);
            rows.push(&blocks[block], (number - first) as usize, 1);
        }
        rows.copy()
    }

    fn row_bytes(&self) -> usize {
        self.cached.num_bytes / usize::try_from(self.len().max(1)).unwrap_or(usize::MAX)
    }
}
