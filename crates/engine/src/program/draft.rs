//! A program under construction, which the builder fills and the passes rewrite.

use super::{Node, Slot, Work};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The nodes of a program in topological order, and its slots.
#[derive(Default)]
pub(super) struct Draft {
    pub nodes: Vec<Node>,
    /// The value of each slot before a run, which is only set for constants.
    pub initial: Vec<Option<Tensor>>,
    /// For each slot, the node that fills it. `None` for feeds and constants.
    pub producers: Vec<Option<usize>>,
    pub feeds: Vec<Slot>,
    pub fetches: Vec<Slot>,
}

impl Draft {
    pub fn add_slot(&mut self, producer: Option<usize>, value: Option<Tensor>) -> Slot {
        self.initial.push(value);
        self.producers.push(producer);
        self.initial.len() - 1
    }

    /// Returns true if a run may skip nodes.
    pub fn has_branches(&self) -> bool {
        self.nodes.iter().any(|node| !node.guards.is_empty() || matches!(node.work, Work::Merge))
    }

    /// Returns true if every node only moves tensors; see
    /// [`Rewritable::is_brief`](crate::kernel::rewrite::Rewritable::is_brief).
    pub fn is_brief(&self) -> bool {
        self.nodes.iter().all(|node| match &node.work {
            Work::Call(kernel) => Arc::clone(kernel).rewritable().is_some_and(|kernel| kernel.is_brief()),
            _ => false,
        })
    }

    /// Returns true if a run stops at host functions.
    pub fn has_host_functions(&self) -> bool {
        self.nodes.iter().any(|node| match &node.work {
            Work::Call(kernel) => kernel.has_host_functions(),
            work => matches!(work, Work::Host(_)),
        })
    }

    /// The number of readers per slot: nodes, guards and fetches.
    pub fn num_readers(&self) -> Vec<usize> {
        #[expect(clippy::disallowed_methods, reason = "one for each slot")]
        let mut num_readers = vec![0; self.initial.len()];
        let inputs = self.nodes.iter().flat_map(|node| &node.inputs).map(|input| input.slot);
        let guards = self.nodes.iter().flat_map(|node| &node.guards).map(|guard| guard.slot);
        inputs.chain(guards).chain(self.fetches.iter().copied()).for_each(|slot| num_readers[slot] += 1);
        num_readers
    }

    /// The outputs that remain in their slots after a run, because no node moves them out.
    pub fn kept_outputs(&self) -> Vec<Slot> {
        #[expect(clippy::disallowed_methods, reason = "one for each slot")]
        let mut is_moved = vec![false; self.initial.len()];
        let inputs = self.nodes.iter().flat_map(|node| &node.inputs);
        inputs.filter(|input| input.is_last_use).for_each(|input| is_moved[input.slot] = true);
        let outputs = self.nodes.iter().flat_map(|node| node.first_output..node.first_output + node.num_outputs);
        outputs.filter(|slot| !is_moved[*slot]).collect()
    }
}
