//! Programs: a flat list of kernel calls in topological order, run once or in a loop.

use crate::error::{Code, Error, Result};
use crate::kernel::{Kernel, Outputs, Pending, Step, Tensors};
use crate::run::Run;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The place of one value in a run of a program.
pub type Slot = usize;

/// Asks a [`Program::run_loop`] to end; set by any thread, read between two runs.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicBool);

impl StopFlag {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

struct Node {
    name: Arc<str>,
    work: Work,
    inputs: Vec<Input>,
    /// Nodes that must have run before, besides those that produce the inputs.
    controls: Vec<usize>,
    /// What must hold for the node to run, outermost first; otherwise it is skipped, and with it what depends on it.
    guards: Vec<Guard>,
    first_output: Slot,
    num_outputs: usize,
    /// Which outputs a later node or a fetch reads, a bit each.
    read_outputs: u64,
}

enum Work {
    Call(Arc<dyn Kernel>),
    /// Hands on its second input if the first one is false, else its third: the other one may have been skipped.
    Merge,
}

/// Lets a node run only if a bool scalar has a certain value.
struct Guard {
    slot: Slot,
    producer: Option<usize>,
    wanted: bool,
}

struct Input {
    slot: Slot,
    producer: Option<usize>,
    /// No later node and no fetch reads the slot: the value can be moved out of it.
    is_last_use: bool,
}

/// A compiled set of operations. Immutable; any number of threads may run it at once.
pub struct Program {
    nodes: Vec<Node>,
    has_branches: bool,
    is_plain: bool,
    /// The values before a run: constants are in place.
    initial: Vec<Option<Tensor>>,
    feeds: Vec<Slot>,
    fetches: Vec<Slot>,
}

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
    pub fn build(mut self, fetches: Vec<Slot>) -> Result<Program> {
        if let Some(unknown) = fetches.iter().find(|slot| **slot >= self.initial.len()) {
            return Err(Error::internal(format!("fetched slot {unknown} does not exist")));
        }
        // A value is moved to its last reader; fetched values, feeds and constants stay where they are.
        let mut is_read_later: Vec<bool> =
            self.producers.iter().map(|producer| self.is_plain || producer.is_none()).collect();
        fetches.iter().for_each(|slot| is_read_later[*slot] = true);
        self.nodes.iter().flat_map(|node| &node.guards).for_each(|guard| is_read_later[guard.slot] = true);
        for node in self.nodes.iter_mut().rev() {
            for input in node.inputs.iter_mut().rev() {
                input.is_last_use = !std::mem::replace(&mut is_read_later[input.slot], true);
            }
        }
        for node in &mut self.nodes {
            let is_read = |output: &usize| is_read_later[node.first_output + output];
            node.read_outputs = (0..node.num_outputs.min(u64::BITS as usize))
                .filter(is_read)
                .fold(0, |bits, output| bits | 1 << output);
        }
        let has_branches = self.nodes.iter().any(|node| !node.guards.is_empty() || matches!(node.work, Work::Merge));
        let Self { nodes, initial, feeds, is_plain, .. } = self;
        Ok(Program { nodes, has_branches, is_plain, initial, feeds, fetches })
    }
}

/// The values of one run, reused by the next run of a loop.
struct Frame<'p> {
    program: &'p Program,
    values: Vec<Option<Tensor>>,
    is_done: Vec<bool>,
    /// The nodes among those done that were skipped. They filled no slot.
    is_skipped: Vec<bool>,
}

/// A node that waits.
struct Waiting {
    node: usize,
    pending: Box<dyn Pending>,
}

impl Program {
    /// Runs every node once and returns the fetched values.
    pub fn run(&self, feeds: Vec<Tensor>, run: &Run) -> Result<Vec<Tensor>> {
        if feeds.len() != self.feeds.len() {
            return Err(Error::internal(format!("{} feeds given, {} expected", feeds.len(), self.feeds.len())));
        }
        let mut frame = Frame::new(self);
        for (slot, value) in self.feeds.iter().zip(feeds) {
            frame.values[*slot] = Some(value);
        }
        frame.execute(run)?;
        self.fetches.iter().enumerate().map(|(index, slot)| frame.fetched(index, *slot)).collect()
    }

    /// Repeats runs until `stop` is set (then it returns) or a run fails (then with that error).
    pub fn run_loop(&self, stop: &StopFlag, run: &Run) -> Result<()> {
        if !self.feeds.is_empty() {
            return Err(Error::internal("a program that is fed cannot run in a loop"));
        }
        let mut frame = Frame::new(self);
        while !stop.is_set() {
            frame.execute(run)?;
            frame.clear();
        }
        Ok(())
    }

    /// The reading nodes that `node` depends on, itself included, nearest first.
    fn origin(&self, node: usize, run: &Run) -> Option<crate::run::Origin> {
        let mut is_seen = vec![false; self.nodes.len()];
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut is_seen[node], true) {
                continue;
            }
            if let Some(origin) = run.origin(node) {
                return Some(origin);
            }
            stack.extend(self.nodes[node].inputs.iter().filter_map(|input| input.producer));
        }
        None
    }

    /// The record that an element of a node's input is, if a reading node gave the node its input.
    fn record_of_element(&self, node: usize, run: &Run, error: &Error) -> Option<crate::run::Origin> {
        let reading = self.nodes[node].inputs.first()?.producer?;
        run.origin(reading)?.of_element(error.element()?)
    }

    /// Completes the error of a node: its name, and the record its inputs came from.
    fn explain(&self, node: usize, run: &Run, error: Error) -> Error {
        // Ends of input and cancellations are no fault of a record.
        let is_about_data = !matches!(error.code(), Code::OutOfRange | Code::Cancelled | Code::DeadlineExceeded);
        let origin = self.origin(node, run).filter(|_| is_about_data && run.origin(node).is_none());
        let error = match origin {
            Some(origin) => match self.record_of_element(node, run, &error) {
                Some(record) => error.while_reading(&record),
                None if origin.offsets_bytes.len() == 1 => error.while_reading(&origin),
                None => error.with_element().while_reading(&origin),
            },
            None => error.with_element(),
        };
        error.in_op(&self.nodes[node].name)
    }
}

impl<'p> Frame<'p> {
    fn new(program: &'p Program) -> Self {
        let (is_done, is_skipped) = (vec![false; program.nodes.len()], vec![false; program.nodes.len()]);
        Self { program, values: program.initial.clone(), is_done, is_skipped }
    }

    fn clear(&mut self) {
        self.is_done.fill(false);
        self.is_skipped.fill(false);
        // Most values were moved to who read them.
        for node in &self.program.nodes {
            let outputs = &mut self.values[node.first_output..node.first_output + node.num_outputs];
            outputs.iter_mut().filter(|value| value.is_some()).for_each(|value| *value = None);
        }
    }

    fn value(&self, slot: Slot) -> Result<Tensor> {
        self.values[slot].clone().ok_or_else(|| unfilled(slot))
    }

    fn fetched(&self, index: usize, slot: Slot) -> Result<Tensor> {
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
            Work::Call(_) => node.inputs.iter().any(|input| is_skipped(input.producer)),
            Work::Merge => is_skipped(node.inputs[0].producer) || is_skipped(node.inputs[self.branch(node)?].producer),
        })
    }

    /// Which input a merging node hands on.
    fn branch(&self, node: &Node) -> Result<usize> {
        Ok(if self.value(node.inputs[0].slot)?.bool_scalar("pred")? { 2 } else { 1 })
    }

    fn execute(&mut self, run: &Run) -> Result<()> {
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

    fn start(&mut self, index: usize, run: &Run, waiting: &mut Vec<Waiting>) -> Result<()> {
        let program = self.program;
        let node = &program.nodes[index];
        let explain = |error| program.explain(index, run, error);
        if program.has_branches && self.is_to_skip(node).map_err(explain)? {
            (self.is_done[index], self.is_skipped[index]) = (true, true);
            return Ok(());
        }
        let Work::Call(kernel) = &node.work else {
            let value = self.value(node.inputs[self.branch(node)?].slot)?;
            return self.finish(index, Outputs::from_buf([value]));
        };
        // Moving is right only in program order; once something waits, later nodes may run before earlier ones.
        let may_move = waiting.is_empty();
        let mut inputs = Tensors::with_capacity(node.inputs.len());
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
        match kernel.run(run, inputs).map_err(explain)? {
            Step::Done(outputs) => self.finish(index, outputs),
            Step::Pending(pending) => {
                waiting.push(Waiting { node: index, pending });
                Ok(())
            }
        }
    }

    /// Tries everything that waits; says whether anything could be finished.
    fn poll(&mut self, run: &Run, waiting: &mut Vec<Waiting>) -> Result<bool> {
        let before = waiting.len();
        let mut index = 0;
        while index < waiting.len() {
            let node = waiting[index].node;
            run.node.set(node);
            match waiting[index].pending.poll(run) {
                Ok(None) => index += 1,
                Ok(Some(outputs)) => {
                    waiting.remove(index);
                    self.finish(node, outputs)?;
                }
                Err(error) => {
                    waiting.remove(index);
                    return Err(self.program.explain(node, run, error));
                }
            }
        }
        Ok(waiting.len() < before)
    }

    fn finish(&mut self, index: usize, mut outputs: Outputs) -> Result<()> {
        let node = &self.program.nodes[index];
        if outputs.len() != node.num_outputs {
            let text = format!("{} gave {} outputs, expected {}", node.name, outputs.len(), node.num_outputs);
            return Err(Error::internal(text));
        }
        for value in self.values[node.first_output..node.first_output + node.num_outputs].iter_mut().rev() {
            *value = outputs.pop();
        }
        self.is_done[index] = true;
        Ok(())
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
