//! Runs a pipeline for several passes, or runs several pipelines one after the other.

use crate::checkpoint::{Checkpoint, damaged};
use crate::function_states::FunctionStates;
use crate::node::{Context, Ended, Node, Poll};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use headrace_engine::error::{Error, Result};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Creates the node of pass number `n` at a checkpoint, or returns `None` after the last pass. The
/// flag is true if the rows were returned before. The node then works synchronously: it polls for
/// rows and begins tasks only when a result is requested.
pub type NextPass = Box<dyn FnMut(u64, &Checkpoint, bool) -> Option<Result<Box<dyn Node>>> + Send>;

/// Endless pipelines stop after this many passes without rows; otherwise they would never stop if
/// there is no data. A few passes may be empty because of random draws.
const MAX_EMPTY: u64 = 100;

/// After this many passes without rows, other threads get a turn, because the pipeline may have
/// been closed.
const PASSES_IN_A_ROW: u64 = 1000;

/// Returns the rows of one pass after another. The next pass begins once the rows of the current
/// one are used up.
pub struct Passes {
    next: NextPass,
    /// The number of the next pass.
    number: u64,
    current: Option<Box<dyn Node>>,
    /// The checkpoint at which the next pass begins.
    first: Checkpoint,
    /// True if the current pass has returned any rows.
    has_rows: bool,
    /// The number of consecutive passes without rows.
    num_empty: u64,
    /// Stop after this many passes without rows.
    max_empty: u64,
    /// The number of steps between the node and the consumer.
    distance: usize,
    /// True if the previous pass ended during this run.
    has_ended: bool,
    /// The function states that nodes begin with.
    states: Option<Arc<FunctionStates>>,
    /// The state of Python functions that carry over from pass to pass.
    kept_states: Option<KeptStates>,
    shards: Option<Shards>,
}

/// For passes over one shard: the state of all shards.
struct Shards {
    /// The number of shards.
    count: u64,
    /// The number of shards at the time of the checkpoint.
    old_count: u64,
    /// True if shards had different numbers of rows in an earlier pass, so that they are at
    /// different positions.
    is_uneven: bool,
    /// If the number of shards has changed: the number of rows of each old shard to skip after the
    /// state of the current pass's checkpoint.
    skip: u64,
    /// The number of additional rows before the skipped ones.
    num_before: u64,
}

/// Python functions that carry a state from pass to pass.
#[derive(Clone, Debug, Default)]
pub struct StatefulFunctions {
    /// The Python workers of these functions.
    pub python_workers: Vec<usize>,
    /// The workers whose last row may have been requested in vain because a zipped input ended
    /// first.
    pub zipped: Vec<usize>,
    /// True if a pass may end before all rows of the functions are used. The functions' states are
    /// then ahead of the used rows.
    pub are_cut_short: bool,
    /// The number of passes for which the states are needed.
    pub num_passes: u64,
    /// True if all nodes work synchronously.
    pub synchronous: bool,
}

struct KeptStates {
    functions: StatefulFunctions,
    /// The states of the functions at the end of the last pass, once known.
    outer: Arc<FunctionStates>,
    /// The states at the beginning of the current pass.
    begin: Arc<FunctionStates>,
    /// The states within the current pass.
    inner: Arc<FunctionStates>,
    /// The checkpoint and the number of the rows returned last.
    last: (Checkpoint, usize),
    settling: Option<Settling>,
}

/// Computes the last rows of a pass again, synchronously, to determine the states of the functions
/// after them.
struct Settling {
    node: Box<dyn Node>,
    states: Arc<FunctionStates>,
    /// The number of rows that remain.
    num_rows: usize,
    /// The states of the functions after the last row.
    behind_rows: Option<Arc<FunctionStates>>,
    /// True once the functions have been called for all earlier rows.
    has_caught_up: bool,
}

impl Settling {
    /// Returns true once all states are known.
    fn poll(&mut self, context: &mut Context) -> Result<bool> {
        self.has_caught_up = self.has_caught_up || self.node.replay_skipped(context)?;
        if !self.has_caught_up {
            return Ok(false);
        }
        loop {
            if self.num_rows == 0 && self.behind_rows.is_none() {
                self.behind_rows = Some(self.states.copy());
            }
            match self.node.pull(context)? {
                Poll::Ready(rows) => self.num_rows = self.num_rows.saturating_sub(rows.len()),
                // It has been returned before.
                Poll::SkipEvent(_) => {}
                Poll::Pending => return Ok(false),
                Poll::End => return Ok(true),
            }
        }
    }
}

impl KeptStates {
    fn new(functions: StatefulFunctions, outer: Arc<FunctionStates>) -> Self {
        let (begin, inner) = (outer.copy(), outer.copy());
        Self { functions, outer, begin, inner, last: (Checkpoint::default(), 0), settling: None }
    }

    /// Returns the checkpoint at which the new pass begins.
    fn begin(&mut self, first: &Checkpoint) -> Checkpoint {
        self.begin = self.outer.copy();
        self.inner = if self.functions.synchronous { Arc::clone(&self.outer) } else { self.outer.copy() };
        self.last = (first.clone(), 0);
        first.clone().with_states(Some(Arc::clone(&self.inner)))
    }

    /// Determines the states of the functions at the end of pass `number`. Returns false until they
    /// are known.
    fn settle(&mut self, number: u64, next: &mut NextPass, context: &mut Context) -> Result<bool> {
        if self.functions.synchronous || number >= self.functions.num_passes {
            return Ok(true);
        }
        if !self.functions.are_cut_short {
            self.functions
                .python_workers
                .iter()
                .for_each(|python_worker| self.outer.set(*python_worker, self.inner.get(*python_worker)));
            return Ok(true);
        }
        if self.settling.is_none() {
            let states = self.begin.copy();
            let (checkpoint, num_rows) = (self.last.0.clone().with_states(Some(Arc::clone(&states))), self.last.1);
            let Some(node) = next(number, &checkpoint, true) else { return Ok(true) };
            self.settling = Some(Settling { node: node?, states, num_rows, behind_rows: None, has_caught_up: false });
        }
        let Some(settling) = &mut self.settling else { return Ok(true) };
        if !settling.poll(context)? {
            return Ok(false);
        }
        let behind_rows = settling.behind_rows.as_ref().unwrap_or(&settling.states);
        for python_worker in &self.functions.python_workers {
            let states = if self.functions.zipped.contains(python_worker) { behind_rows } else { &settling.states };
            self.outer.set(*python_worker, states.get(*python_worker));
        }
        self.settling = None;
        Ok(true)
    }
}

impl Passes {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: false,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: false,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::AcrossPasses,
    };

    /// Creates passes that are `distance` steps away from the consumer. If `is_endless`, they stop
    /// after many passes without rows.
    pub fn new(next: NextPass, is_endless: bool, distance: usize) -> Self {
        Self {
            next,
            number: 0,
            current: None,
            first: Checkpoint::default(),
            has_rows: true,
            num_empty: 0,
            max_empty: if is_endless { MAX_EMPTY } else { u64::MAX },
            distance,
            has_ended: false,
            states: None,
            kept_states: None,
            shards: None,
        }
    }

    /// Reads the number of shards from a checkpoint of passes over one shard.
    pub fn old_shards(checkpoint: &Checkpoint) -> Result<Option<u64>> {
        Ok(checkpoint.numbers()?.map(|[_, old_count, _]| old_count))
    }

    /// Runs the passes over one of `count` shards; see [`Passes::skips`].
    pub fn over_shards(mut self, count: Option<u64>) -> Self {
        self.shards = count.map(|count| Shards { count, old_count: count, is_uneven: false, skip: 0, num_before: 0 });
        self
    }

    /// Returns true if the node skips the rows after the checkpoint's state itself. This is
    /// necessary if the number of shards has changed, because the rows are then counted
    /// differently.
    pub fn skips(&self) -> bool {
        self.shards.as_ref().is_some_and(|shards| shards.old_count != shards.count)
    }

    /// Begins the next pass. Returns false if there is none.
    fn begin(&mut self) -> Result<bool> {
        let first = std::mem::take(&mut self.first);
        let start = match &mut self.kept_states {
            Some(kept_states) => kept_states.begin(&first),
            None => first.clone().with_states(self.states.clone()),
        };
        let Some(node) = (self.next)(self.number, &start, false) else { return Ok(false) };
        self.number += 1;
        // A resumed pass has returned something before.
        self.has_rows = first != Checkpoint::default();
        self.current = Some(node?);
        Ok(true)
    }

    /// Returns the checkpoint at which the pass after `ended` begins.
    fn after(&mut self, ended: Option<Ended>) -> Result<Checkpoint> {
        let (Some(shards), Some(ended)) = (&mut self.shards, ended) else { return Ok(Checkpoint::default()) };
        let (is_uneven, skip) = (ended.fewest != ended.most, shards.skip);
        (shards.is_uneven, shards.skip) = (shards.is_uneven || is_uneven, 0);
        if shards.old_count == shards.count || !ended.is_within_skip {
            return Ok(Checkpoint::default());
        }
        if is_uneven {
            return Err(shards.uneven(self.number));
        }
        let num_skipped = ended.mine.saturating_sub(std::mem::take(&mut shards.num_before));
        self.has_rows = ended.mine > 0;
        shards.skip = skip.saturating_sub(num_skipped);
        Ok(Checkpoint::default().advanced_by(shards.skip))
    }

    /// Sets the Python functions whose state carries over from pass to pass.
    pub fn with_function_states(mut self, functions: StatefulFunctions, states: Option<&Arc<FunctionStates>>) -> Self {
        self.states = states.cloned();
        if let Some(states) = states.filter(|_| !functions.python_workers.is_empty()) {
            self.kept_states = Some(KeptStates::new(functions, Arc::clone(states)));
        }
        self
    }

    /// Continues from a checkpoint's state. The caller skips the rows that follow it.
    pub fn from_checkpoint(mut self, checkpoint: &Checkpoint) -> Result<Self> {
        let number = match (&mut self.shards, checkpoint.state()) {
            (_, None) => return Ok(self),
            (None, Some(_)) => checkpoint.numbers()?.map_or(0, |[number]| number),
            (Some(shards), Some(_)) => {
                let [number, old_count, is_uneven] = checkpoint.numbers()?.unwrap_or_default();
                (shards.old_count, shards.is_uneven) = (old_count, is_uneven > 0);
                number
            }
        };
        (self.number, self.first) = (number, checkpoint.input(0)?);
        if let Some(shards) = &mut self.shards
            && shards.old_count != shards.count
        {
            if shards.is_uneven {
                return Err(shards.uneven(number));
            }
            (shards.skip, shards.num_before) = (checkpoint.skip(), self.first.skip());
            self.first = self.first.advanced_by(checkpoint.skip());
        }
        if let Some(kept_states) = &self.kept_states {
            for (index, python_worker) in kept_states.functions.python_workers.iter().enumerate() {
                kept_states.outer.set(*python_worker, checkpoint.input(index + 1)?.text());
            }
        } else if checkpoint.state().is_some_and(|state| state.inputs.len() > 1) {
            return Err(damaged());
        }
        Ok(self)
    }
}

impl Shards {
    fn uneven(&self, number: u64) -> Error {
        let Self { count, old_count, .. } = self;
        Error::invalid_argument(format!(
            "it was saved after {number} epochs of one of {old_count} shards of different lengths. The shards are at \
             different positions, so it cannot be used for shard(..., {count}). Continue with shard(..., \
             {old_count}), call epochs(...) before shard(...), or make the shards equal with shard(..., even='drop')"
        ))
    }
}

impl Node for Passes {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if let Some(current) = &mut self.current {
                match current.pull(context)? {
                    Poll::Ready(rows) => {
                        self.has_rows = true;
                        let inner = rows.checkpoint(0);
                        let mut numbers: SmallVec<[u64; 3]> = smallvec![self.number - 1];
                        if let Some(Shards { count, is_uneven, .. }) = &self.shards {
                            numbers.extend([*count, u64::from(*is_uneven)]);
                        }
                        let Some(kept_states) = &mut self.kept_states else {
                            return Ok(Poll::Ready(rows.with_checkpoint(Checkpoint::new(numbers, [inner]))));
                        };
                        kept_states.last = (inner.clone(), rows.len());
                        let states = kept_states
                            .begin
                            .texts(&kept_states.functions.python_workers)
                            .into_iter()
                            .map(Checkpoint::of_text);
                        let checkpoint = Checkpoint::new(numbers, std::iter::once(inner).chain(states));
                        return Ok(Poll::Ready(rows.with_checkpoint(checkpoint)));
                    }
                    Poll::SkipEvent(skip_event) => return Ok(Poll::SkipEvent(skip_event)),
                    Poll::Pending => return Ok(Poll::Pending),
                    Poll::End => {
                        let ended = current.ended();
                        (self.current, self.has_ended) = (None, true);
                        self.first = self.after(ended)?;
                        self.num_empty = if self.has_rows { 0 } else { self.num_empty + 1 };
                        if self.num_empty > 0 && self.num_empty.is_multiple_of(PASSES_IN_A_ROW) {
                            context.start(self.distance, Box::new(|| {}));
                            return Ok(Poll::Pending);
                        }
                    }
                }
            }
            if self.has_ended
                && let Some(kept_states) = &mut self.kept_states
                && !kept_states.settle(self.number - 1, &mut self.next, context)?
            {
                return Ok(Poll::Pending);
            }
            if self.num_empty >= self.max_empty {
                return Ok(Poll::End);
            }
            if !self.begin()? {
                return Ok(Poll::End);
            }
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        let is_resumed = self.current.is_none() && !self.has_ended && self.first != Checkpoint::default();
        if is_resumed && !self.begin()? {
            return Ok(true);
        }
        self.current.as_mut().map_or(Ok(true), |current| current.replay_skipped(context))
    }
}
