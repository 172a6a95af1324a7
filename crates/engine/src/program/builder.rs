//! Builds a program node by node.

use super::draft::Draft;
use super::{Guard, HostFunction, Input, Node, Program, Slot, Work, passes};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::tensor::Tensor;
use std::sync::Arc;

/// Collects the nodes of a [`Program`]. Each node comes after the nodes that it depends on.
///
/// ```
/// use headrace_engine::kernels::{self, attrs::Attrs};
/// use headrace_engine::program::ProgramBuilder;
/// use headrace_engine::run::Run;
/// use headrace_engine::sync::cancellation::Cancellation;
/// use headrace_engine::tensor::Tensor;
///
/// let mut builder = ProgramBuilder::new();
/// let x = builder.feed();
/// let two = builder.constant(Tensor::scalar(2.0_f32));
/// let multiply = kernels::build("Mul", &Attrs::default())?.expect("Mul has a kernel");
/// let (_, product) = builder.node("product".into(), multiply, &[x, two], &[], &[], 1)?;
/// let program = builder.build(vec![product])?;
///
/// let cancellation = Cancellation::new();
/// let outputs = program.run(vec![Tensor::scalar(21.0_f32)], &Run::new(&cancellation))?;
/// assert_eq!(outputs, [Tensor::scalar(42.0_f32)]);
/// # headrace_engine::error::Result::Ok(())
/// ```
#[derive(Default)]
pub struct ProgramBuilder {
    draft: Draft,
    is_unoptimised: bool,
}

impl ProgramBuilder {
    /// Starts an empty program.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a program that is built without any passes and whose kernels defer nothing
    /// ([`Run::is_unoptimised`]). It computes the same results, but more slowly. Tests compare the
    /// two.
    ///
    /// [`Run::is_unoptimised`]: crate::run::Run::is_unoptimised
    pub fn unoptimised() -> Self {
        Self { is_unoptimised: true, ..Self::default() }
    }

    /// Adds a value that is passed to each run. Feeds are passed in the order of these calls.
    pub fn feed(&mut self) -> Slot {
        let slot = self.draft.add_slot(None, None);
        self.draft.feeds.push(slot);
        slot
    }

    /// Adds a value that is the same in every run.
    pub fn constant(&mut self, value: Tensor) -> Slot {
        self.draft.add_slot(None, Some(value))
    }

    /// Adds a call of `kernel`. Returns the node's number and its first output slot, which the
    /// other outputs follow.
    ///
    /// The node is skipped unless each of `guards`, outermost first, is a bool scalar with the
    /// required value. `inputs`, `controls` and `guards` must come from earlier calls.
    pub fn node(
        &mut self,
        name: Arc<str>,
        kernel: Arc<dyn Kernel>,
        inputs: &[Slot],
        controls: &[usize],
        guards: &[(Slot, bool)],
        num_outputs: usize,
    ) -> Result<(usize, Slot)> {
        self.add(name, Work::Call(kernel), inputs, controls, guards, num_outputs)
    }

    /// Adds a call of a host function; see [`ProgramBuilder::node`].
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

    /// Adds a node that returns `if_true` or `if_false`, depending on the bool scalar `predicate`;
    /// see [`ProgramBuilder::node`].
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
        let node = self.draft.nodes.len();
        let read = inputs.iter().chain(guards.iter().map(|(slot, _)| slot));
        if let Some(unknown) = read.into_iter().find(|slot| **slot >= self.draft.initial.len()) {
            return Err(Error::internal(format!("node {name} reads slot {unknown}, which no earlier node fills")));
        }
        if let Some(unknown) = controls.iter().find(|control| **control >= node) {
            return Err(Error::internal(format!(
                "node {name} waits for node {unknown}, which does not come before it"
            )));
        }
        let producers = &self.draft.producers;
        let input = |slot: &Slot| Input { slot: *slot, producer: producers[*slot], is_last_use: false };
        let guard =
            |(slot, expected): &(Slot, bool)| Guard { slot: *slot, producer: producers[*slot], expected: *expected };
        let (inputs, guards) = (inputs.iter().map(input).collect(), guards.iter().map(guard).collect());
        let first_output = self.draft.initial.len();
        for _ in 0..num_outputs {
            self.draft.add_slot(Some(node), None);
        }
        self.draft.nodes.push(Node {
            name,
            work,
            inputs,
            controls: controls.to_vec(),
            guards,
            first_output,
            num_outputs,
            read_outputs: u64::MAX,
        });
        Ok((node, first_output))
    }

    /// Builds the program. Its runs return the values of `fetches`.
    pub fn build(self, fetches: Vec<Slot>) -> Result<Program> {
        let Self { mut draft, is_unoptimised } = self;
        if let Some(unknown) = fetches.iter().find(|slot| **slot >= draft.initial.len()) {
            return Err(Error::internal(format!("fetched slot {unknown} does not exist")));
        }
        draft.fetches = fetches;
        let is_brief = draft.is_brief();
        let has_host_functions = draft.has_host_functions();
        if !is_unoptimised {
            passes::ALL.iter().for_each(|pass| pass(&mut draft));
        }
        let (has_branches, kept) = (draft.has_branches(), draft.kept_outputs());
        let Draft { nodes, initial, feeds, fetches, .. } = draft;
        Ok(Program { nodes, has_branches, is_brief, has_host_functions, kept, is_unoptimised, initial, feeds, fetches })
    }

    #[cfg(test)]
    pub(super) fn into_draft(self) -> Draft {
        self.draft
    }
}
