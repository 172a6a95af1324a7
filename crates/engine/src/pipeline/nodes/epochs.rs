//! A pipeline several times over, and pipelines one after the other.

use crate::error::Result;
use crate::pipeline::function_states::FunctionStates;
use crate::pipeline::mark::{Mark, damaged};
use crate::pipeline::node::{Context, Node, Poll};
use std::sync::Arc;

/// Makes the node of pass number `n` from a mark on, or `None` if there are no more. If so told, it works in step: it asks
/// for rows, and begins tasks, only when their results are wanted.
pub type NextPass = Box<dyn FnMut(u64, &Mark, bool) -> Option<Result<Box<dyn Node>>> + Send>;

/// Gives the rows of one pass after the other. The next pass begins as soon as the last row of one is asked for.
pub struct Passes {
    next: NextPass,
    /// That of the pass that follows.
    number: u64,
    current: Option<Box<dyn Node>>,
    /// Where the pass that follows begins.
    first: Mark,
    /// Whether the current pass has given anything.
    has_rows: bool,
    ends_after_nothing: bool,
    /// Whether the pass before `number` has ended in this run.
    has_ended: bool,
    /// The states that nodes begin with.
    states: Option<Arc<FunctionStates>>,
    /// Python functions that keep a state from one pass to the next.
    keeping: Option<Keeping>,
}

/// Which Python functions keep a state from one pass to the next.
#[derive(Clone, Debug, Default)]
pub struct Keepers {
    /// Their lanes.
    pub lanes: Vec<usize>,
    /// Those of which a row may have been asked for in vain: what is beside it has ended.
    pub zipped: Vec<usize>,
    /// Whether a pass may end before all rows that they made are used, so that their states are those of other rows.
    pub are_cut_short: bool,
    /// Their states are needed behind so many passes.
    pub num_passes: u64,
    /// Whether all nodes work in step.
    pub in_step: bool,
}

struct Keeping {
    keepers: Keepers,
    /// What the functions have at the end of the last pass, once that is known.
    outer: Arc<FunctionStates>,
    /// What they had at the beginning of the pass under way.
    begin: Arc<FunctionStates>,
    /// What they have in the pass under way.
    inner: Arc<FunctionStates>,
    /// Where the rows begin that were given last, and how many they are.
    last: (Mark, usize),
    settling: Option<Settling>,
}

/// Makes the last rows of a pass again, in step, to find out what functions have behind them.
struct Settling {
    node: Box<dyn Node>,
    states: Arc<FunctionStates>,
    /// How many rows are still to come.
    num_rows: usize,
    /// What the functions have behind the last row.
    behind_rows: Option<Arc<FunctionStates>>,
}

impl Settling {
    /// Whether all is known.
    fn poll(&mut self, context: &mut Context) -> Result<bool> {
        loop {
            if self.num_rows == 0 && self.behind_rows.is_none() {
                self.behind_rows = Some(self.states.copy());
            }
            match self.node.pull(context)? {
                Poll::Ready(rows) => self.num_rows = self.num_rows.saturating_sub(rows.len()),
                // It was given before.
                Poll::Note(_) => {}
                Poll::Pending => return Ok(false),
                Poll::End => return Ok(true),
            }
        }
    }
}

impl Keeping {
    fn new(keepers: Keepers, outer: Arc<FunctionStates>) -> Self {
        let (begin, inner) = (outer.copy(), outer.copy());
        Self { keepers, outer, begin, inner, last: (Mark::default(), 0), settling: None }
    }

    /// Where a pass begins that begins now.
    fn begin(&mut self, first: &Mark) -> Mark {
        self.begin = self.outer.copy();
        self.inner = if self.keepers.in_step { Arc::clone(&self.outer) } else { self.outer.copy() };
        self.last = (first.clone(), 0);
        first.clone().with_states(Some(Arc::clone(&self.inner)))
    }

    /// Makes sure that it is known what the functions have at the end of pass `number`; false as long as it is not.
    fn settle(&mut self, number: u64, next: &mut NextPass, context: &mut Context) -> Result<bool> {
        if self.keepers.in_step || number >= self.keepers.num_passes {
            return Ok(true);
        }
        if !self.keepers.are_cut_short {
            self.keepers.lanes.iter().for_each(|lane| self.outer.set(*lane, self.inner.get(*lane)));
            return Ok(true);
        }
        if self.settling.is_none() {
            let states = self.begin.copy();
            let (mark, num_rows) = (self.last.0.clone().with_states(Some(Arc::clone(&states))), self.last.1);
            let Some(node) = next(number, &mark, true) else { return Ok(true) };
            self.settling = Some(Settling { node: node?, states, num_rows, behind_rows: None });
        }
        let Some(settling) = &mut self.settling else { return Ok(true) };
        if !settling.poll(context)? {
            return Ok(false);
        }
        let behind_rows = settling.behind_rows.as_ref().unwrap_or(&settling.states);
        for lane in &self.keepers.lanes {
            let states = if self.keepers.zipped.contains(lane) { behind_rows } else { &settling.states };
            self.outer.set(*lane, states.get(*lane));
        }
        self.settling = None;
        Ok(true)
    }
}

impl Passes {
    /// With `ends_after_nothing` a pass without a row is the last one: passes for ever over nothing would never end.
    pub fn new(next: NextPass, ends_after_nothing: bool) -> Self {
        Self {
            next,
            number: 0,
            current: None,
            first: Mark::default(),
            has_rows: true,
            ends_after_nothing,
            has_ended: false,
            states: None,
            keeping: None,
        }
    }

    /// With Python functions that keep a state from one pass to the next.
    pub fn keeping(mut self, keepers: Keepers, states: Option<&Arc<FunctionStates>>) -> Self {
        self.states = states.cloned();
        if let Some(states) = states.filter(|_| !keepers.lanes.is_empty()) {
            self.keeping = Some(Keeping::new(keepers, Arc::clone(states)));
        }
        self
    }

    /// From a mark on, without those that are to be left out behind its state.
    pub fn from_mark(mut self, mark: &Mark) -> Result<Self> {
        let Some([number]) = mark.numbers()? else { return Ok(self) };
        (self.number, self.first) = (number, mark.input(0)?);
        if let Some(keeping) = &self.keeping {
            for (index, lane) in keeping.keepers.lanes.iter().enumerate() {
                keeping.outer.set(*lane, mark.input(index + 1)?.text());
            }
        } else if mark.state().is_some_and(|state| state.inputs.len() > 1) {
            return Err(damaged());
        }
        Ok(self)
    }
}

impl Node for Passes {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if let Some(current) = &mut self.current {
                match current.pull(context)? {
                    Poll::Ready(rows) => {
                        self.has_rows = true;
                        let inner = rows.mark(0);
                        let Some(keeping) = &mut self.keeping else {
                            return Ok(Poll::Ready(rows.marked(Mark::new([self.number - 1], [inner]))));
                        };
                        keeping.last = (inner.clone(), rows.len());
                        let states = keeping.begin.marks(&keeping.keepers.lanes);
                        let mark = Mark::new([self.number - 1], std::iter::once(inner).chain(states));
                        return Ok(Poll::Ready(rows.marked(mark)));
                    }
                    Poll::Note(note) => return Ok(Poll::Note(note)),
                    Poll::Pending => return Ok(Poll::Pending),
                    Poll::End => (self.current, self.has_ended) = (None, true),
                }
            }
            if self.has_ended
                && let Some(keeping) = &mut self.keeping
                && !keeping.settle(self.number - 1, &mut self.next, context)?
            {
                return Ok(Poll::Pending);
            }
            if self.has_ended && self.ends_after_nothing && !self.has_rows {
                return Ok(Poll::End);
            }
            let first = std::mem::take(&mut self.first);
            let start = match &mut self.keeping {
                Some(keeping) => keeping.begin(&first),
                None => first.clone().with_states(self.states.clone()),
            };
            let Some(node) = (self.next)(self.number, &start, false) else { return Ok(Poll::End) };
            self.number += 1;
            // What is taken up has given something before.
            self.has_rows = first != Mark::default();
            self.current = Some(node?);
        }
    }
}
