//! How a program is put together: its nodes in order, and what is done with them once all are known.

use super::{Guard, HostFunction, Input, Node, Program, Slot, Work};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::tensor::Tensor;
use std::sync::Arc;

/// Collects the nodes of a [`Program`], each after the nodes it needs.
#[derive(Default)]
pub struct ProgramBuilder {
    nodes: Vec<Node>,
    initial: Vec<Option<Tensor>>,
    producers: Vec<Option<usize>>,
    feeds: Vec<Slot>,
    is_plain: bool,
}

impl ProgramBuilder {
    pub fn new() -> Self {
        Self::default()
    }

    /// For programs without rewrites: nothing is moved, left out, put off or done once for all runs. They do the same as
    /// others, only slower; tests compare them. Whatever makes a program do its work in another way asks for this.
    pub fn plain() -> Self {
        Self { is_plain: true, ..Self::default() }
    }

    fn slot(&mut self, producer: Option<usize>, value: Option<Tensor>) -> Slot {
        self.initial.push(value);
        self.producers.push(producer);
        self.initial.len() - 1
    }

    /// A value given with each run; feeds are given in the order of these calls.
    pub fn feed(&mut self) -> Slot {
        let slot = self.slot(None, None);
        self.feeds.push(slot);
        slot
    }

    /// A value that is the same in every run.
    pub fn constant(&mut self, value: Tensor) -> Slot {
        self.slot(None, Some(value))
    }

    /// A call of `kernel`; returns the node's number and its first output slot. The others follow it.
    ///
    /// The node is skipped unless each of `guards`, outermost first, is a bool scalar of the given value. `inputs`,
    /// `controls` and `guards` must come from earlier calls.
    pub fn node(
        &mut self,
        name: Arc<str>,
        kernel: Arc<dyn Kernel>,
        inputs: &[Slot],
        controls: &[usize],
        guards: &[(Slot, bool)],
        num_outputs: usize,
    ) -> Result<(usize, Slot)> {
        let constant = |slot: &Slot| self.initial.get(*slot).and_then(Option::as_ref);
        let constants: Vec<_> = inputs.iter().map(constant).collect();
        let specialised = if self.is_plain { None } else { kernel.with_constants(&constants) };
        match specialised {
            Some(kernel) => {
                let others: Vec<_> = inputs.iter().copied().filter(|slot| constant(slot).is_none()).collect();
                self.add(name, Work::Call(kernel), &others, controls, guards, num_outputs)
            }
            None => self.add(name, Work::Call(kernel), inputs, controls, guards, num_outputs),
        }
    }

    /// A call of a function of the host language; see [`ProgramBuilder::node`].
    pub fn host_function(
        &mut self,
        name: Arc<str>,
        function: HostFunction,
        inputs: &[Slot],
        controls: &[usize],
        guards: &[(Slot, bool)],
        num_outputs: usize,
    ) -> Result<(usize, Slot)> {
        self.add(name, Work::Host(function), inputs, controls, guards, num_outputs)
    }

    /// A node that hands on `if_true` or `if_false`, as the bool scalar `predicate` says; see [`ProgramBuilder::node`].
    pub fn merge(
        &mut self,
        name: Arc<str>,
        predicate: Slot,
        (if_false, if_true): (Slot, Slot),
        controls: &[usize],
        guards: &[(Slot, bool)],
    ) -> Result<(usize, Slot)> {
        self.add(name, Work::Merge, &[predicate, if_false, if_true], controls, guards, 1)
    }

    fn add(
        &mut self,
        name: Arc<str>,
        work: Work,
        inputs: &[Slot],
        controls: &[usize],
        guards: &[(Slot, bool)],
        num_outputs: usize,
    ) -> Result<(usize, Slot)> {
        let node = self.nodes.len();
        let read = inputs.iter().chain(guards.iter().map(|(slot, _)| slot));
        if let Some(unknown) = read.into_iter().find(|slot| **slot >= self.initial.len()) {
            return Err(Error::internal(format!("node {name} reads slot {unknown}, which no earlier node fills")));
        }
        if let Some(unknown) = controls.iter().find(|control| **control >= node) {
            return Err(Error::internal(format!("node {name} waits for node {unknown}, which is not before it")));
        }
        let first_output = self.initial.len();
        for _ in 0..num_outputs {
            self.slot(Some(node), None);
        }
        let inputs = inputs
            .iter()
            .map(|slot| Input { slot: *slot, producer: self.producers[*slot], is_last_use: false })
            .collect();
        let guards = guards
            .iter()
            .map(|(slot, wanted)| Guard { slot: *slot, producer: self.producers[*slot], wanted: *wanted })
            .collect();
        self.nodes.push(Node {
            name,
            work,
            inputs,
            controls: controls.to_vec(),
            guards,
            first_output,
            num_outputs,
            read_outputs: 0,
        });
        Ok((node, first_output))
    }

    /// The program whose runs return the values of `fetches`.
    pub fn build(mut self, mut fetches: Vec<Slot>) -> Result<Program> {
        if let Some(unknown) = fetches.iter().find(|slot| **slot >= self.initial.len()) {
            return Err(Error::internal(format!("fetched slot {unknown} does not exist")));
        }
        let has_branches = self.nodes.iter().any(|node| !node.guards.is_empty() || matches!(node.work, Work::Merge));
        let is_brief = self.nodes.iter().all(|node| matches!(&node.work, Work::Call(kernel) if kernel.is_brief()));
        let has_host_functions = self.nodes.iter().any(|node| matches!(node.work, Work::Host(_)));
        if !has_branches && !self.is_plain {
            self.change_in_place(&mut fetches);
        }
        let kept = self.note_readers(&fetches);
        let Self { nodes, initial, feeds, is_plain, .. } = self;
        Ok(Program { nodes, has_branches, is_brief, has_host_functions, kept, is_plain, initial, feeds, fetches })
    }

    /// Lets kernels that can do so change their input, where it is a node's output and nobody else reads it.
    fn change_in_place(&mut self, fetches: &mut [Slot]) {
        #[expect(clippy::disallowed_methods, reason = "one for each slot")]
        let mut num_readers = vec![0; self.initial.len()];
        let inputs = self.nodes.iter().flat_map(|node| &node.inputs).map(|input| &input.slot);
        inputs.chain(fetches.iter()).for_each(|slot| num_readers[*slot] += 1);
        // Constants that kernels have taken in are not kept.
        let unread = self.initial.iter_mut().zip(&num_readers).filter(|(_, num_readers)| **num_readers == 0);
        unread.for_each(|(constant, _)| *constant = None);
        let mut places: Vec<Slot> = (0..self.initial.len()).collect();
        for node in &mut self.nodes {
            let is_only_reader = node.inputs.iter().all(|input| num_readers[input.slot] == 1);
            node.inputs.iter_mut().for_each(|input| input.slot = places[input.slot]);
            if let ([Input { slot, producer: Some(_), .. }], 1, Work::Call(kernel)) =
                (&node.inputs[..], node.num_outputs, &node.work)
                && is_only_reader
                && let Some(kernel) = Arc::clone(kernel).in_place()
            {
                places[node.first_output] = *slot;
                node.first_output = *slot;
                node.work = Work::Change(kernel);
            }
        }
        fetches.iter_mut().for_each(|slot| *slot = places[*slot]);
    }

    /// Notes who is the last to read each value, and which outputs are read at all; returns the outputs that stay where
    /// they are. Values are moved to their last readers, except those that are fetched, fed or constant.
    fn note_readers(&mut self, fetches: &[Slot]) -> Vec<Slot> {
        let mut is_read_later: Vec<bool> =
            self.producers.iter().map(|producer| self.is_plain || producer.is_none()).collect();
        fetches.iter().for_each(|slot| is_read_later[*slot] = true);
        self.nodes.iter().flat_map(|node| &node.guards).for_each(|guard| is_read_later[guard.slot] = true);
        #[expect(clippy::disallowed_methods, reason = "one for each slot")]
        let mut is_moved = vec![false; self.initial.len()];
        for node in self.nodes.iter_mut().rev() {
            for input in node.inputs.iter_mut().rev() {
                input.is_last_use = !std::mem::replace(&mut is_read_later[input.slot], true);
                is_moved[input.slot] |= input.is_last_use;
            }
        }
        for node in &mut self.nodes {
            let is_read = |output: &usize| is_read_later[node.first_output + output];
            node.read_outputs = (0..node.num_outputs.min(u64::BITS as usize))
                .filter(is_read)
                .fold(0, |bits, output| bits | 1 << output);
        }
        let outputs = self.nodes.iter().flat_map(|node| node.first_output..node.first_output + node.num_outputs);
        outputs.filter(|slot| !is_moved[*slot]).collect()
    }
}
