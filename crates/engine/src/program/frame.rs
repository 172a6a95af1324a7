//! The state of one run of a program: the values so far, and which nodes are done or waiting.

use super::{Node, Program, Slot, Work};
use crate::error::{Code, Error, Result};
use crate::kernel::{HostCall, HostFunction, Outputs, Pending, Tensors, store};
use crate::run::Run;
use crate::tensor::Tensor;
use crate::waits::{Awaited, Description};
use std::collections::VecDeque;
use std::sync::Arc;

/// The progress of one run.
#[derive(Default)]
pub(super) struct Progress {
    /// The first node that has not been tried yet.
    next: usize,
    /// Nodes that were not ready and are now tried again.
    blocked: VecDeque<usize>,
    /// Nodes that are not ready. They are tried again when a waiting node has finished.
    not_ready: Vec<usize>,
    waiting: Vec<Waiting>,
    /// The node whose host function is being called.
    called: usize,
    /// True for a run inside another run, which must not block.
    is_inner: bool,
}

impl Progress {
    /// Starts a run inside another run.
    pub(super) fn inner() -> Self {
        Self { is_inner: true, ..Self::default() }
    }

    /// Takes the host function call that a waiting node needs, if any.
    fn take_call(&mut self) -> Option<HostCall> {
        let (node, call) =
            self.waiting.iter_mut().find_map(|waiting| Some((waiting.node, waiting.pending.take_call()?)))?;
        self.called = node;
        Some(call)
    }

    /// Describes the wait of the first waiting node.
    pub(super) fn description(&self) -> Option<Description> {
        self.waiting.iter().find_map(|waiting| waiting.pending.description())
    }

    /// Cancels the waiting nodes. Returns the error of the first one.
    pub(super) fn cancel(&mut self, program: &Program) -> Option<Error> {
        let errors = self.waiting.drain(..).map(|mut waiting| {
            let error = waiting.pending.cancel();
            error.in_op(&program.nodes[waiting.node].name)
        });
        errors.fold(None, |first, error| first.or(Some(error)))
    }
}

/// Why a run has returned.
pub(super) enum Halt {
    /// All nodes are done.
    Done,
    /// A function has to be called. Pass its results to [`Frame::take_returned`].
    Call(HostCall),
    /// All remaining nodes are waiting. Only occurs inside another run, which does the waiting.
    Blocked,
}

/// The values of one run. The next run of a loop reuses them.
pub(super) struct Frame<'p> {
    program: &'p Program,
    pub(super) values: Vec<Option<Tensor>>,
    is_done: Vec<bool>,
    /// For each finished node, whether it was skipped. Skipped nodes fill no slots.
    is_skipped: Vec<bool>,
    /// True once a node has had to wait. Values may then be left in slots from which they are
    /// usually moved out.
    has_waited: bool,
}

/// A [`Frame`] without its program: the state of a run that has stopped at a host function.
pub(super) struct Values {
    values: Vec<Option<Tensor>>,
    is_done: Vec<bool>,
    is_skipped: Vec<bool>,
    has_waited: bool,
}

/// A node that is waiting.
struct Waiting {
    node: usize,
    pending: Box<dyn Pending>,
}

impl<'p> Frame<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        #[expect(clippy::disallowed_methods, reason = "one for each node")]
        let (is_done, is_skipped) = (vec![false; program.nodes.len()], vec![false; program.nodes.len()]);
        Self { program, values: program.initial.clone(), is_done, is_skipped, has_waited: false }
    }

    pub(super) fn restore(program: &'p Program, values: Values) -> Self {
        let Values { values, is_done, is_skipped, has_waited } = values;
        Self { program, values, is_done, is_skipped, has_waited }
    }

    pub(super) fn into_values(self) -> Values {
        let Self { program: _, values, is_done, is_skipped, has_waited } = self;
        Values { values, is_done, is_skipped, has_waited }
    }

    pub(super) fn clear(&mut self) {
        self.is_done.fill(false);
        self.is_skipped.fill(false);
        // The inputs of a skipped node may be left over too.
        if std::mem::take(&mut self.has_waited) || self.program.has_branches {
            for node in &self.program.nodes {
                self.values[node.first_output..node.first_output + node.num_outputs].fill(None);
            }
        }
        self.program.kept.iter().for_each(|slot| self.values[*slot] = None);
    }

    /// Stores the values that are fed to the program.
    pub(super) fn feed(&mut self, values: impl Iterator<Item = Tensor>) -> Result<()> {
        let mut count = 0;
        for value in values {
            if let Some(slot) = self.program.feeds.get(count) {
                self.values[*slot] = Some(value);
            }
            count += 1;
        }
        if count != self.program.feeds.len() {
            return Err(Error::internal(format!("got {count} feeds, expected {}", self.program.feeds.len())));
        }
        Ok(())
    }

    fn value(&self, slot: Slot) -> Result<Tensor> {
        self.values[slot].clone().ok_or_else(|| unfilled(slot))
    }

    pub(super) fn fetched(&self, index: usize, slot: Slot) -> Result<Tensor> {
        let skipped =
            || Error::invalid_argument(format!("Retval[{index}] does not have value: its branch was not taken"));
        self.values[slot].clone().ok_or_else(skipped)
    }

    fn is_ready(&self, node: usize) -> bool {
        let node = &self.program.nodes[node];
        let producers = node.inputs.iter().map(|input| input.producer);
        let mut producers = producers.chain(node.guards.iter().map(|guard| guard.producer)).flatten();
        node.controls.iter().all(|control| self.is_done[*control]) && producers.all(|producer| self.is_done[producer])
    }

    /// Returns true if a ready node has to be skipped, because it or a node it depends on is on a
    /// branch that was not taken.
    fn is_to_skip(&self, node: &Node) -> Result<bool> {
        let is_skipped = |producer: Option<usize>| producer.is_some_and(|producer| self.is_skipped[producer]);
        if node.controls.iter().any(|control| self.is_skipped[*control]) {
            return Ok(true);
        }
        for guard in &node.guards {
            if is_skipped(guard.producer) || self.value(guard.slot)?.bool_scalar("pred")? != guard.expected {
                return Ok(true);
            }
        }
        Ok(match node.work {
            Work::Call(_) | Work::Change(_) | Work::Fill(_) | Work::Host(_) => {
                node.inputs.iter().any(|input| is_skipped(input.producer))
            }
            Work::Merge => is_skipped(node.inputs[0].producer) || is_skipped(node.inputs[self.branch(node)?].producer),
        })
    }

    /// The number of the input that a merge node returns.
    fn branch(&self, node: &Node) -> Result<usize> {
        Ok(if self.value(node.inputs[0].slot)?.bool_scalar("pred")? { 2 } else { 1 })
    }

    /// Runs all nodes. The program must have no host functions.
    pub(super) fn execute(&mut self, run: &Run) -> Result<()> {
        run.check()?;
        run.is_unoptimised.set(self.program.is_unoptimised);
        let mut progress = Progress::default();
        match self.execute_nodes::<false>(run, &mut progress) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.abandon(run, progress, error)),
        }
    }

    /// Runs the nodes up to the next host function, or all remaining ones.
    pub(super) fn advance(&mut self, run: &Run, progress: &mut Progress) -> Result<Halt> {
        run.is_unoptimised.set(self.program.is_unoptimised);
        self.execute_nodes::<true>(run, progress).map_err(|error| self.abandon(run, std::mem::take(progress), error))
    }

    /// Stores the result of the host function at which the run stopped.
    pub(super) fn take_returned(
        &mut self,
        run: &Run,
        progress: &mut Progress,
        returned: Result<Outputs>,
    ) -> Result<()> {
        let Node { first_output, num_outputs, .. } = self.program.nodes[progress.called];
        let caller = progress.waiting.iter().position(|waiting| waiting.node == progress.called);
        let taken = match caller {
            // A node that runs its own program, which has stopped there.
            Some(caller) => {
                let result = progress.waiting[caller].pending.give(run, returned);
                result.inspect_err(|_| drop(progress.waiting.remove(caller)))
            }
            None => {
                let slots = &mut self.values[first_output..first_output + num_outputs];
                returned.and_then(|outputs| store(outputs, slots))
            }
        };
        taken.map_err(|error| {
            let error = self.program.explain(progress.called, run, error);
            self.abandon(run, std::mem::take(progress), error)
        })
    }

    /// Runs the nodes in order. A node that would block waits while others run. If `MAY_STOP`, the
    /// run stops when a host function has to be called, and the next call continues there.
    fn execute_nodes<const MAY_STOP: bool>(&mut self, run: &Run, progress: &mut Progress) -> Result<Halt> {
        for node in progress.next..self.program.nodes.len() {
            if progress.waiting.is_empty() || self.is_ready(node) {
                if let Some(call) = self.start_or_stop::<MAY_STOP>(node, run, progress)? {
                    progress.next = node + 1;
                    return Ok(Halt::Call(call));
                }
            } else {
                progress.not_ready.push(node);
            }
        }
        progress.next = self.program.nodes.len();
        loop {
            while let Some(node) = progress.blocked.pop_front() {
                if !self.is_ready(node) {
                    progress.not_ready.push(node);
                } else if let Some(call) = self.start_or_stop::<MAY_STOP>(node, run, progress)? {
                    return Ok(Halt::Call(call));
                }
            }
            if progress.waiting.is_empty() {
                return Ok(Halt::Done);
            }
            let has_finished = self.poll(run, &mut progress.waiting)?;
            if has_finished {
                progress.blocked.extend(progress.not_ready.drain(..));
            }
            if MAY_STOP && let Some(call) = progress.take_call() {
                return Ok(Halt::Call(call));
            }
            if has_finished {
                continue;
            }
            if progress.is_inner {
                return Ok(Halt::Blocked);
            }
            run.wait_for(&|| progress.waiting.iter().map(|waiting| self.awaited(waiting)).collect())?;
        }
    }

    #[inline(always)]
    fn start_or_stop<const MAY_STOP: bool>(
        &mut self,
        index: usize,
        run: &Run,
        progress: &mut Progress,
    ) -> Result<Option<HostCall>> {
        let program = self.program;
        if MAY_STOP && let Work::Host(function) = &program.nodes[index].work {
            return self.stop(index, function, run, progress);
        }
        let before = progress.waiting.len();
        self.start(index, run, &mut progress.waiting)?;
        Ok(if MAY_STOP && progress.waiting.len() > before { progress.take_call() } else { None })
    }

    /// Stops to call a host function, unless the node is skipped.
    fn stop(
        &mut self,
        index: usize,
        function: &HostFunction,
        run: &Run,
        progress: &mut Progress,
    ) -> Result<Option<HostCall>> {
        let program = self.program;
        let node = &program.nodes[index];
        self.is_done[index] = true;
        if program.has_branches && self.is_to_skip(node).map_err(|error| program.explain(index, run, error))? {
            self.is_skipped[index] = true;
            return Ok(None);
        }
        progress.called = index;
        let mut inputs = Tensors::new();
        self.take_inputs(node, progress.waiting.is_empty(), &mut inputs)?;
        Ok(Some(HostCall { function: Arc::clone(function), inputs }))
    }

    #[inline(always)]
    fn start(&mut self, index: usize, run: &Run, waiting: &mut Vec<Waiting>) -> Result<()> {
        let program = self.program;
        let node = &program.nodes[index];
        let explain = |error| program.explain(index, run, error);
        if program.has_branches && self.is_to_skip(node).map_err(explain)? {
            (self.is_done[index], self.is_skipped[index]) = (true, true);
            return Ok(());
        }
        self.is_done[index] = true;
        match &node.work {
            Work::Call(_) | Work::Fill(_) => self.call(index, run, waiting).map_err(explain),
            Work::Change(kernel) => {
                let Some(value) = &mut self.values[node.first_output] else { return Err(unfilled(node.first_output)) };
                kernel.change(value).map_err(explain)
            }
            Work::Host(_) => Err(explain(Error::internal("a host function needs an Execution"))),
            Work::Merge => {
                self.values[node.first_output] = Some(self.value(node.inputs[self.branch(node)?].slot)?);
                Ok(())
            }
        }
    }

    /// Calls a kernel with its inputs. It isn't inlined, so that nodes that change a value in place
    /// stay cheap.
    #[inline(never)]
    fn call(&mut self, index: usize, run: &Run, waiting: &mut Vec<Waiting>) -> Result<()> {
        let program = self.program;
        let node = &program.nodes[index];
        let mut inputs = Tensors::new();
        self.take_inputs(node, waiting.is_empty(), &mut inputs)?;
        run.node.set(index);
        run.read_outputs.set(node.read_outputs);
        let slots = &mut self.values[node.first_output..node.first_output + node.num_outputs];
        let pending = match &node.work {
            Work::Fill(kernel) => kernel.fill(run, inputs, slots)?,
            Work::Call(kernel) => kernel.run(run, inputs)?.store(slots)?,
            Work::Change(_) | Work::Merge | Work::Host(_) => None,
        };
        if let Some(pending) = pending {
            (self.is_done[index], self.has_waited) = (false, true);
            waiting.push(Waiting { node: index, pending });
        }
        Ok(())
    }

    /// Appends the inputs of a node to `inputs`, because returning them in a `Result` would copy
    /// them. Values may only be moved in program order. `may_move` must be false once a node is
    /// waiting, because later nodes may then run before earlier ones.
    #[inline(always)]
    fn take_inputs(&mut self, node: &Node, may_move: bool, inputs: &mut Tensors) -> Result<()> {
        for input in &node.inputs {
            let slot = &mut self.values[input.slot];
            // Two branches without a `Result`, which would copy each tensor once more.
            if may_move && input.is_last_use {
                let Some(value) = slot.take() else { return Err(unfilled(input.slot)) };
                inputs.push(value);
            } else {
                let Some(value) = slot else { return Err(unfilled(input.slot)) };
                inputs.push(value.clone());
            }
        }
        Ok(())
    }

    /// Polls all waiting nodes. Returns whether one of them finished.
    fn poll(&mut self, run: &Run, waiting: &mut Vec<Waiting>) -> Result<bool> {
        let before = waiting.len();
        let mut index = 0;
        while index < waiting.len() {
            let node = waiting[index].node;
            run.node.set(node);
            let explain = |error| self.program.explain(node, run, error);
            match waiting[index].pending.poll(run) {
                Ok(None) => index += 1,
                Ok(Some(outputs)) => {
                    waiting.remove(index);
                    let Node { first_output, num_outputs, .. } = self.program.nodes[node];
                    let slots = &mut self.values[first_output..first_output + num_outputs];
                    store(outputs, slots).map_err(explain)?;
                    self.is_done[node] = true;
                }
                Err(error) => {
                    waiting.remove(index);
                    return Err(explain(error));
                }
            }
        }
        Ok(waiting.len() < before)
    }

    fn name(&self, waiting: &Waiting) -> Arc<str> {
        Arc::clone(&self.program.nodes[waiting.node].name)
    }

    fn awaited(&self, waiting: &Waiting) -> Awaited {
        Awaited { op: Some(self.name(waiting)), what: waiting.pending.description() }
    }

    /// Cancels the nodes that are still waiting. A cancelled run returns the error of its first
    /// waiting operation.
    fn abandon(&self, run: &Run, progress: Progress, error: Error) -> Error {
        let mut first = None;
        let is_from_outside = error.op().is_none();
        let error = match progress.waiting.first().filter(|_| is_from_outside) {
            Some(waiting) => error.waiting_in(&self.name(waiting)),
            None => error,
        };
        for mut waiting in progress.waiting {
            let error = waiting.pending.cancel();
            first.get_or_insert_with(|| self.program.explain(waiting.node, run, error));
        }
        let is_cancelled = error.code() == Code::Cancelled && error.op().is_none();
        first.filter(|_| is_cancelled).unwrap_or(error)
    }
}

#[cold]
fn unfilled(slot: Slot) -> Error {
    Error::internal(format!("slot {slot} was read before it was filled"))
}
