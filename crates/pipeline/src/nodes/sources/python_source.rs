//! A source whose rows come from a Python thread.

use crate::blocks::block::{FileProvenance, Provenance};
use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::function_states::FunctionState;
use crate::node::{Context, Node, Poll, Position};
use crate::tasks::size_estimate::SizeEstimate;
use crate::tasks::task::{Outcome, PythonTask, Ring};
use headrace_engine::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of blocks to request before they are needed.
const AHEAD: usize = 4;

/// Requests blocks from a Python worker until it returns an empty one.
pub struct PythonSource {
    python_worker: usize,
    stage: usize,
    /// A unique number per node, by which the Python worker detects that another pass has begun.
    start: u64,
    file_provenance: Arc<FileProvenance>,
    /// The number of rows to skip at the beginning of the pass.
    first: u64,
    /// The number of rows so far, including skipped rows.
    num_rows: u64,
    ring: Ring<Outcome>,
    size_estimate: SizeEstimate,
    synchronous: bool,
    is_over: bool,
    error: Option<Error>,
    /// The state of the iterator before the first block.
    state: Option<Arc<str>>,
}

impl PythonSource {
    /// The rows of a pass.
    pub fn new(python_worker: usize, position: Position) -> Self {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let file_provenance = FileProvenance::unnamed("example", position.pass);
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        let (stage, ring, size_estimate) = (position.stage, Ring::new(), SizeEstimate::default());
        let (first, num_rows, is_over, error, state) = (0, 0, false, None, None);
        let synchronous = position.synchronous;
        Self {
            python_worker,
            stage,
            start,
            file_provenance,
            first,
            num_rows,
            ring,
            size_estimate,
            synchronous,
            is_over,
            error,
            state,
        }
    }

    /// Continues from a checkpoint. Earlier rows are produced again and skipped, starting at the
    /// beginning or at a state of the iterator.
    pub fn from_checkpoint(mut self, checkpoint: &Checkpoint) -> Result<Self> {
        let [number] = checkpoint.numbers()?.unwrap_or_default();
        self.num_rows = number.saturating_add(checkpoint.skip());
        self.state = checkpoint.text();
        self.first = if self.state.is_some() { checkpoint.skip() } else { self.num_rows };
        Ok(self)
    }

    /// The number of blocks to request ahead. It is one until the size of a block is known.
    fn ahead(&self) -> usize {
        self.size_estimate.task_bytes().filter(|_| !self.synchronous).map_or(1, |_| AHEAD)
    }
}

impl Node for PythonSource {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        while !self.is_over && self.error.is_none() && self.ring.len() < self.ahead() {
            let target_bytes = SizeEstimate::target_bytes(context.budget.room_bytes());
            let num_bytes = self.size_estimate.task_bytes().unwrap_or(target_bytes);
            let Some(charge) = context.charge(num_bytes, self.ring.is_empty()) else { break };
            let (slot, size_estimate) = (self.ring.start(Checkpoint::default()), self.size_estimate.clone());
            let (pass, first, stage) = (self.start, self.first, self.stage);
            let (rows, state) = (Rows::new(), FunctionState::new(self.state.take(), None));
            let skipper = None;
            let task = PythonTask {
                rows,
                pass,
                first,
                state,
                stage,
                charge,
                scratch_bytes: 0,
                target_bytes,
                size_estimate,
                skipper,
                slot,
            };
            context.start_python(self.python_worker, task)?;
        }
        while self.error.is_none()
            && let Some((_, outcome)) = self.ring.pop()
        {
            let Outcome { rows, error, state, .. } = outcome?;
            self.is_over |= rows.is_empty();
            self.error = error;
            if !rows.is_empty() {
                let (provenance, checkpoint) = (
                    Provenance::Run(Arc::clone(&self.file_provenance), self.num_rows),
                    Checkpoint::new([self.num_rows], []),
                );
                self.num_rows += rows.len() as u64;
                return Ok(Poll::Ready(rows.with_provenance(provenance)?.with_checkpoint(checkpoint.with_text(state))));
            }
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        Ok(if self.is_over && self.ring.is_empty() { Poll::End } else { Poll::Pending })
    }
}
