//! Programs: flat lists of kernel calls in topological order, which are run once or in a loop.

mod builder;
mod draft;
mod each;
mod execution;
mod frame;
mod looping;
mod passes;
mod repeated;
pub mod trace;

pub use crate::kernel::{HostCall, HostFunction};
pub use builder::ProgramBuilder;
pub use each::{Each, EachResult};
pub use execution::{Execution, Stop};
pub use looping::{Loop, Rounds};
pub use repeated::Repeated;

use crate::error::{Code, Error, Result};
use crate::kernel::Kernel;
use crate::kernel::rewrite::{Fill, InPlace};
use crate::run::Run;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::tensor::Tensor;
use crate::tensor_array::TensorArrays;
use frame::Frame;
use std::sync::Arc;

/// The index of one value in a run of a program.
pub type Slot = usize;

/// Stops a [`Program::run_loop`]. Any thread may set it; it is read between two runs.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicBool);

impl StopFlag {
    /// Creates a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the loop end after its current run.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Clears the flag for another loop.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }

    /// Returns true once the loop should end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

struct Node {
    name: Arc<str>,
    work: Work,
    inputs: Vec<Input>,
    /// Nodes that must run before this one, in addition to those that produce its inputs.
    controls: Vec<usize>,
    /// The conditions for the node to run, outermost first. If one does not hold, the node is
    /// skipped together with all nodes that depend on it.
    guards: Vec<Guard>,
    first_output: Slot,
    num_outputs: usize,
    /// Which outputs are read, as one bit each.
    read_outputs: u64,
}

enum Work {
    Call(Arc<dyn Kernel>),
    /// The kernel changes its input in place. Nothing else reads the input.
    Change(Arc<dyn InPlace>),
    /// Like a call, but the kernel writes its outputs to their slots.
    Fill(Arc<dyn Fill>),
    /// Returns its second input if the first one is false, and its third otherwise. The other one
    /// may have been skipped.
    Merge,
    /// Calls a host function; see [`Execution`].
    Host(HostFunction),
}

/// A condition for a node: a bool scalar must have this value.
struct Guard {
    slot: Slot,
    producer: Option<usize>,
    expected: bool,
}

struct Input {
    slot: Slot,
    producer: Option<usize>,
    /// True if no later node reads the slot, so the value can be moved out of it.
    is_last_use: bool,
}

/// A compiled set of operations. It is immutable, and any number of threads may run it at once.
pub struct Program {
    nodes: Vec<Node>,
    has_branches: bool,
    is_brief: bool,
    has_host_functions: bool,
    /// Outputs that no node moves out of their slots. They have to be cleared after a run.
    kept: Vec<Slot>,
    is_unoptimised: bool,
    /// The values before a run: the constants.
    initial: Vec<Option<Tensor>>,
    feeds: Vec<Slot>,
    fetches: Vec<Slot>,
}

impl Program {
    /// Returns true if a run takes almost no time, not counting waits.
    pub fn is_brief(&self) -> bool {
        self.is_brief
    }

    /// Returns true if it calls host functions. Only an [`Execution`] can run it then.
    pub fn has_host_functions(&self) -> bool {
        self.has_host_functions
    }

    /// The number of values to feed to a run.
    pub fn num_feeds(&self) -> usize {
        self.feeds.len()
    }

    /// The number of values that a run returns.
    pub fn num_fetches(&self) -> usize {
        self.fetches.len()
    }

    /// Runs every node once and returns the fetched values.
    pub fn run(&self, feeds: Vec<Tensor>, run: &Run) -> Result<Vec<Tensor>> {
        let mut frame = self.fed_frame(feeds)?;
        frame.execute(run)?;
        self.fetched(&frame)
    }

    /// Returns the values before a run, including the fed ones.
    fn fed_frame(&self, feeds: Vec<Tensor>) -> Result<Frame<'_>> {
        let mut frame = Frame::new(self);
        frame.feed(feeds.into_iter())?;
        Ok(frame)
    }

    /// Returns the fetched values after a run.
    fn fetched(&self, frame: &Frame) -> Result<Vec<Tensor>> {
        self.fetches.iter().enumerate().map(|(index, slot)| frame.fetched(index, *slot)).collect()
    }

    /// Repeats runs until `stop` is set or a run fails. Returns `Ok` or the error.
    pub fn run_loop(&self, stop: &StopFlag, run: &Run) -> Result<()> {
        let mut frame = self.loop_frame()?;
        while !stop.is_set() {
            frame.execute(run)?;
            frame.clear();
            run.replace_arrays(TensorArrays::default());
        }
        Ok(())
    }

    /// Returns the values before the first run of a loop.
    fn loop_frame(&self) -> Result<Frame<'_>> {
        if !self.feeds.is_empty() {
            return Err(Error::internal("a program with feeds cannot run in a loop"));
        }
        Ok(Frame::new(self))
    }

    /// The record of the nearest reading node that `node` depends on, which may be `node` itself.
    fn provenance(&self, node: usize, run: &Run) -> Option<crate::run::RecordProvenance> {
        #[expect(clippy::disallowed_methods, reason = "one for each node")]
        let mut is_seen = vec![false; self.nodes.len()];
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut is_seen[node], true) {
                continue;
            }
            if let Some(provenance) = run.provenance(node) {
                return Some(provenance);
            }
            stack.extend(self.nodes[node].inputs.iter().filter_map(|input| input.producer));
        }
        None
    }

    /// The record of the failing element, if a reading node produced the node's input.
    fn record_of_element(&self, node: usize, run: &Run, error: &Error) -> Option<crate::run::RecordProvenance> {
        let reading = self.nodes[node].inputs.first()?.producer?;
        run.provenance(reading)?.of_element(error.element()?)
    }

    /// Adds the name of a node to its error, and the record that its inputs came from.
    fn explain(&self, node: usize, run: &Run, error: Error) -> Error {
        // End of input and cancellation don't concern a specific record.
        let is_about_data = !matches!(error.code(), Code::OutOfRange | Code::Cancelled | Code::DeadlineExceeded);
        let provenance = self.provenance(node, run).filter(|_| is_about_data && run.provenance(node).is_none());
        let error = match provenance {
            Some(provenance) => match self.record_of_element(node, run, &error) {
                Some(record) => error.while_reading(&record),
                None if provenance.offsets_bytes.len() == 1 => error.while_reading(&provenance),
                None => error.with_element().while_reading(&provenance),
            },
            None => error.with_element(),
        };
        error.in_op(&self.nodes[node].name)
    }
}
