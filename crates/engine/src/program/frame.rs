//! One run of a program: the values so far, which nodes are done, and which wait.

use super::{Node, Program, Slot, Work};
use crate::error::{Code, Error, Result};
use crate::kernel::{Kernel, Pending, Tensors, store};
use crate::run::Run;
use crate::tensor::Tensor;
use std::sync::Arc;

/// The values of one run, reused by the next run of a loop.
pub(super) struct Frame<'p> {
    program: &'p Program,
    pub(super) values: Vec<Option<Tensor>>,
    is_done: Vec<bool>,
    /// The nodes among those done that were skipped. They filled no slot.
    is_skipped: Vec<bool>,
    /// Something has waited: not every value was moved to who read it last.
    has_waited: bool,
}

/// A node that waits.
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

    pub(super) fn clear(&mut self) {
        self.is_done.fill(false);
        self.is_skipped.fill(false);
        // Nor was what a node that was skipped would have read.
        if std::mem::take(&mut self.has_waited) || self.program.has_branches {
            for node in &self.program.nodes {
                self.values[node.first_output..node.first_output + node.num_outputs].fill(None);
            }
        }
        self.program.kept.iter().for_each(|slot| self.values[*slot] = None);
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

    /// Whether a node that is ready is not to run: on a branch not taken, or in need of what is.
    fn is_to_skip(&self, node: &Node) -> Result<bool> {
        let is_skipped = |producer: Option<usize>| producer.is_some_and(|producer| self.is_skipped[producer]);
        if node.controls.iter().any(|control| self.is_skipped[*control]) {
            return Ok(true);
        }
        for guard in &node.guards {
            if is_skipped(guard.producer) || self.value(guard.slot)?.bool_scalar("pred")? != guard.wanted {
                return Ok(true);
            }
        }
        Ok(match node.work {
            Work::Call(_) | Work::Change(_) => node.inputs.iter().any(|input| is_skipped(input.producer)),
            Work::Merge => is_skipped(node.inputs[0].producer) || is_skipped(node.inputs[self.branch(node)?].producer),
        })
    }

    /// Which input a merging node hands on.
    fn branch(&self, node: &Node) -> Result<usize> {
        Ok(if self.value(node.inputs[0].slot)?.bool_scalar("pred")? { 2 } else { 1 })
    }

    pub(super) fn execute(&mut self, run: &Run) -> Result<()> {
        run.check()?;
        run.is_plain.set(self.program.is_plain);
        let mut waiting = Vec::new();
        let result = self.execute_nodes(run, &mut waiting);
        match result {
            Ok(()) => Ok(()),
            Err(error) => Err(self.abandon(run, waiting, error)),
        }
    }

    /// Runs the nodes in their order. One that would block waits aside while those that can go on do.
    fn execute_nodes(&mut self, run: &Run, waiting: &mut Vec<Waiting>) -> Result<()> {
        let mut deferred = Vec::new();
        for node in 0..self.program.nodes.len() {
            if waiting.is_empty() || self.is_ready(node) {
                self.start(node, run, waiting)?;
            } else {
                deferred.push(node);
            }
        }
        while !waiting.is_empty() {
            if !self.poll(run, waiting)? {
                run.wait()?;
                continue;
            }
            let blocked = std::mem::take(&mut deferred);
            for node in blocked {
                if self.is_ready(node) {
                    self.start(node, run, waiting)?;
                } else {
                    deferred.push(node);
                }
            }
        }
        Ok(())
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
            Work::Call(kernel) => self.call(index, kernel, run, waiting).map_err(explain),
            Work::Change(kernel) => {
                let Some(value) = &mut self.values[node.first_output] else { return Err(unfilled(node.first_output)) };
                kernel.change(value).map_err(explain)
            }
            Work::Merge => {
                self.values[node.first_output] = Some(self.value(node.inputs[self.branch(node)?].slot)?);
                Ok(())
            }
        }
    }

    /// Calls a kernel with what it needs. On its own, so that the nodes that change a value in place stay cheap.
    #[inline(never)]
    fn call(&mut self, index: usize, kernel: &Arc<dyn Kernel>, run: &Run, waiting: &mut Vec<Waiting>) -> Result<()> {
        let node = &self.program.nodes[index];
        // Moving is right only in program order; once something waits, later nodes may run before earlier ones.
        let may_move = waiting.is_empty();
        let mut inputs = Tensors::new();
        for input in &node.inputs {
            let place = &mut self.values[input.slot];
            // In two branches, and without a `Result` between: each would copy the tensor once more.
            if may_move && input.is_last_use {
                let Some(value) = place.take() else { return Err(unfilled(input.slot)) };
                inputs.push(value);
            } else {
                let Some(value) = place else { return Err(unfilled(input.slot)) };
                inputs.push(value.clone());
            }
        }
        run.node.set(index);
        run.read_outputs.set(node.read_outputs);
        let places = &mut self.values[node.first_output..node.first_output + node.num_outputs];
        if let Some(pending) = kernel.run_into(run, inputs, places)? {
            (self.is_done[index], self.has_waited) = (false, true);
            waiting.push(Waiting { node: index, pending });
        }
        Ok(())
    }

    /// Tries everything that waits; says whether anything could be finished.
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
                    let places = &mut self.values[first_output..first_output + num_outputs];
                    store(outputs, places).map_err(explain)?;
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

    /// Ends what still waits; of a cancelled run, the first waiting operation says how it ended.
    fn abandon(&self, run: &Run, waiting: Vec<Waiting>, error: Error) -> Error {
        let mut first = None;
        for mut waiting in waiting {
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
