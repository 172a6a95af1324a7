//! Rows that a thread of Python's makes.

use crate::error::{Error, Result};
use crate::pipeline::block::{FileOrigin, Origins};
use crate::pipeline::function_states::FunctionState;
use crate::pipeline::mark::Mark;
use crate::pipeline::node::{Context, Node, Poll, Position};
use crate::pipeline::nodes::expected::Expected;
use crate::pipeline::rows::Rows;
use crate::pipeline::task::{HostTask, Outcome, Ring};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks that are asked for before they are wanted.
const AHEAD: usize = 4;

/// Asks a lane for one block after the other, until it gives one without rows.
pub struct Hosted {
    lane: usize,
    stage: usize,
    /// Another one for each node, so that the lane knows when a pass begins anew.
    start: u64,
    origin: Arc<FileOrigin>,
    /// How many rows of the pass are left out.
    first: u64,
    /// How many rows came so far, with those.
    num_rows: u64,
    ring: Ring<Outcome>,
    expected: Expected,
    in_step: bool,
    is_over: bool,
    error: Option<Error>,
    /// The state that the iterator has before the first block.
    state: Option<Arc<str>>,
}

impl Hosted {
    /// The rows of a pass.
    pub fn new(lane: usize, position: Position) -> Self {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let origin = FileOrigin::unnamed("example", position.pass);
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        let (stage, ring, expected) = (position.stage, Ring::new(), Expected::default());
        let (first, num_rows, is_over, error, state) = (0, 0, false, None, None);
        let in_step = position.in_step;
        Self { lane, stage, start, origin, first, num_rows, ring, expected, in_step, is_over, error, state }
    }

    /// From a mark on. The rows before it are made and left out, from the beginning or from a state of the iterator.
    pub fn from_mark(mut self, mark: &Mark) -> Result<Self> {
        let [number] = mark.numbers()?.unwrap_or_default();
        self.num_rows = number.saturating_add(mark.skip());
        self.state = mark.text();
        self.first = if self.state.is_some() { mark.skip() } else { self.num_rows };
        Ok(self)
    }

    /// How many blocks are asked for before they are wanted: one until it is known what one takes.
    fn ahead(&self) -> usize {
        self.expected.task_bytes().filter(|_| !self.in_step).map_or(1, |_| AHEAD)
    }
}

impl Node for Hosted {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        while !self.is_over && self.error.is_none() && self.ring.len() < self.ahead() {
            let wanted_bytes = Expected::wanted_bytes(context.budget.room_bytes());
            let num_bytes = self.expected.task_bytes().unwrap_or(wanted_bytes);
            let Some(charge) = context.charge(num_bytes, self.ring.is_empty()) else { break };
            let (slot, expected) = (self.ring.start(Mark::default()), self.expected.clone());
            let (pass, first, stage) = (self.start, self.first, self.stage);
            let (rows, state) = (Rows::new(), FunctionState::new(self.state.take(), None));
            let skipper = None;
            let task = HostTask { rows, pass, first, state, stage, charge, wanted_bytes, expected, skipper, slot };
            context.start_hosted(self.lane, task)?;
        }
        while self.error.is_none()
            && let Some((_, outcome)) = self.ring.pop()
        {
            let Outcome { rows, error, state, .. } = outcome?;
            self.is_over |= rows.is_empty();
            self.error = error;
            if !rows.is_empty() {
                let (origins, mark) =
                    (Origins::Run(Arc::clone(&self.origin), self.num_rows), Mark::new([self.num_rows], []));
                self.num_rows += rows.len() as u64;
                return Ok(Poll::Ready(rows.with_origins(origins)?.marked(mark.with_text(state))));
            }
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        Ok(if self.is_over && self.ring.is_empty() { Poll::End } else { Poll::Pending })
    }
}
