//! Loops: nodes that run another program repeatedly.
//!
//! The body is a separate program. It is fed the carried values, a row of each sequence, and
//! captured values, which are the same in each iteration. It returns the next carried values and
//! the values to collect. The inputs of the node are the initial carried values, the sequences, and
//! the captured values. Its outputs are the final carried values, and the collected values,
//! stacked.
//!
//! A loop is part of its node's run. If it would block, it returns to that run. If its body calls a
//! host function, the run stops for the call.

mod beside;

use super::frame::{Halt, Progress, Values};
use super::{Frame, Program};
use crate::error::{Code, Error, Result};
use crate::kernel::{HostCall, Kernel, Outputs, Pending, Step, Tensors};
use crate::kernels::array::join;
use crate::run::{RecordProvenances, Run};
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::PartialShape;
use crate::waits::Description;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a loop runs before it lets other nodes run and checks whether the run was stopped.
const SLICE: Duration = Duration::from_millis(10);

/// How many times a body runs.
pub enum Rounds {
    /// Repeats while this program returns true. It is fed the same values as the body.
    While(Arc<Program>),
    /// Once for each row of the sequences.
    Rows {
        /// True to go from the last row to the first. Collected values keep the order of the rows.
        is_reversed: bool,
        /// True to skip the first row and collect the initial carried values in its place.
        begins_with_carried: bool,
        /// True if iterations only compute their outputs, so that several threads may run them.
        is_pure: bool,
    },
}

/// A loop over a program.
pub struct Loop {
    /// The name for its errors.
    pub name: Arc<str>,
    /// The number of iterations.
    pub rounds: Rounds,
    /// The program that each iteration runs.
    pub body: Arc<Program>,
    /// The number of values that each iteration passes to the next one.
    pub num_carried: usize,
    /// The number of tensors that pass one row to each iteration.
    pub num_sequences: usize,
    /// The dtypes of the collected values, and the shape of a row as far as it is known. They are
    /// needed if there are no iterations.
    pub collected: Vec<(DType, Option<PartialShape>)>,
    /// The maximum number of threads for iterations.
    pub max_threads: usize,
}

/// Runs the loop.
impl Kernel for Arc<Loop> {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let mut running = Running::new(self, inputs)?;
        match running.advance(run)? {
            Some(outputs) => Ok(Step::Done(outputs)),
            None => Ok(Step::Pending(Box::new(running))),
        }
    }

    fn has_host_functions(&self) -> bool {
        let has_condition = matches!(&self.rounds, Rounds::While(condition) if condition.has_host_functions());
        has_condition || self.body.has_host_functions()
    }
}

impl Loop {
    fn program(&self, phase: Phase) -> &Arc<Program> {
        match (&self.rounds, phase) {
            (Rounds::While(condition), Phase::Condition) => condition,
            _ => &self.body,
        }
    }

    fn first_phase(&self) -> Phase {
        if matches!(self.rounds, Rounds::While(_)) { Phase::Condition } else { Phase::Body }
    }

    /// Stacks the collected values.
    fn stack(&self, index: usize, rows: &[Tensor]) -> Result<Tensor> {
        let (dtype, element_shape) = &self.collected[index];
        let Some(first) = rows.first() else {
            return match element_shape.as_ref().and_then(PartialShape::to_shape) {
                Some(row) => Tensor::empty(*dtype, row.batched(0)),
                None => {
                    let element_shape =
                        element_shape.as_ref().map_or_else(|| "<unknown>".to_owned(), PartialShape::to_string);
                    Err(Error::unimplemented(format!(
                        "TensorArray has size zero, but element shape {element_shape} is not fully defined. Currently only static \
                         shapes are supported when packing zero-size TensorArrays."
                    )))
                }
            };
        };
        if let Some((other, row)) = rows.iter().enumerate().find(|(_, row)| row.shape() != first.shape()) {
            return Err(Error::invalid_argument(format!(
                "TensorArray has inconsistent shapes.  Index 0 has shape: {} but index {other} has shape: {}",
                first.shape(),
                row.shape()
            )));
        }
        join::stack(rows)
    }

    /// Adds the number of the iteration to an error, unless the error only ends the run.
    fn explain(&self, error: Error, round: usize) -> Error {
        match error.code() {
            Code::OutOfRange | Code::Cancelled | Code::DeadlineExceeded => error,
            _ if error.is_interrupting() => error,
            _ => error.in_iteration(round, &self.name),
        }
    }
}

/// Which program of the loop is running.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Condition,
    Body,
}

/// A loop in progress.
struct Running {
    of: Arc<Loop>,
    carried: Vec<Tensor>,
    sequences: Vec<Tensor>,
    captured: Vec<Tensor>,
    /// The collected rows of each output, in iteration order.
    collected: Vec<Vec<Tensor>>,
    round: usize,
    /// The number of iterations, unless it depends on a condition.
    num_rounds: Option<usize>,
    phase: Phase,
    /// True once the phase has begun.
    has_begun: bool,
    /// The values of the condition and the body between two steps.
    values: [Option<Values>; 2],
    progress: Progress,
    provenances: RecordProvenances,
    call: Option<HostCall>,
    /// When another node last ran.
    since: Instant,
}

impl Running {
    fn new(of: &Arc<Loop>, inputs: Tensors) -> Result<Self> {
        let mut inputs = inputs.into_iter();
        let carried: Vec<_> = inputs.by_ref().take(of.num_carried).collect();
        let sequences: Vec<_> = inputs.by_ref().take(of.num_sequences).collect();
        let mut collected: Vec<Vec<Tensor>> = of.collected.iter().map(|_| Vec::new()).collect();
        let num_rounds = match &of.rounds {
            Rounds::While(_) => None,
            Rounds::Rows { begins_with_carried, .. } => {
                let rows = num_rows(&sequences)?;
                if *begins_with_carried && rows > 0 {
                    collected.iter_mut().zip(&carried).for_each(|(rows, first)| rows.push(first.clone()));
                }
                Some(rows.saturating_sub(usize::from(*begins_with_carried)))
            }
        };
        Ok(Self {
            of: Arc::clone(of),
            carried,
            sequences,
            captured: inputs.collect(),
            collected,
            round: 0,
            num_rounds,
            phase: of.first_phase(),
            has_begun: false,
            values: [None, None],
            progress: Progress::inner(),
            provenances: RecordProvenances::default(),
            call: None,
            since: Instant::now(),
        })
    }

    /// Continues until the loop is over, would block, has run for a while, or has to call a host
    /// function.
    fn advance(&mut self, run: &Run) -> Result<Option<Outputs>> {
        if self.round == 0 && !self.has_begun {
            beside::run_all(self, run)?;
        }
        loop {
            if !self.has_begun {
                if self.num_rounds == Some(self.round) {
                    return self.outputs().map(Some);
                }
                if self.since.elapsed() > SLICE {
                    self.since = Instant::now();
                    run.parker().unpark();
                    return Ok(None);
                }
            }
            let Some(fetched) = self.step(run).map_err(|error| self.of.explain(error, self.round))? else {
                return Ok(None);
            };
            if self.end_phase(fetched)? {
                return self.outputs().map(Some);
            }
        }
    }

    /// Runs the program of the current phase, or the rest of it. Returns the fetched values, or
    /// `None` if it has not finished.
    fn step(&mut self, run: &Run) -> Result<Option<Vec<Tensor>>> {
        let of = Arc::clone(&self.of);
        let program = of.program(self.phase);
        let mut frame = match self.values[self.phase as usize].take() {
            Some(values) => Frame::restore(program, values),
            None => Frame::new(program),
        };
        if !self.has_begun {
            self.feed(&mut frame)?;
            (self.has_begun, self.progress) = (true, Progress::inner());
        }
        // Node numbers refer to this program now.
        let (node, provenances) = (run.node.get(), run.replace_provenances(std::mem::take(&mut self.provenances)));
        let halt = frame.advance(run, &mut self.progress);
        self.provenances = run.replace_provenances(provenances);
        run.node.set(node);
        let fetched = match halt? {
            Halt::Done => Some(program.fetched(&frame)?),
            Halt::Blocked => None,
            Halt::Call(call) => {
                self.call = Some(call);
                None
            }
        };
        if fetched.is_some() {
            frame.clear();
        }
        self.values[self.phase as usize] = Some(frame.into_values());
        Ok(fetched)
    }

    /// Feeds the program of the current phase.
    fn feed(&mut self, frame: &mut Frame) -> Result<()> {
        let carried = match self.phase {
            // The condition reads the values first. After that, the body may change them.
            Phase::Condition => self.carried.clone(),
            Phase::Body => std::mem::take(&mut self.carried),
        };
        let row = self.row();
        let rows = self.sequences.iter().map(|sequence| sequence.row(row)).collect::<Result<Vec<_>>>()?;
        frame.feed(carried.into_iter().chain(rows).chain(self.captured.iter().cloned()))
    }

    /// The row of this iteration.
    fn row(&self) -> usize {
        match (&self.of.rounds, self.num_rounds) {
            (Rounds::Rows { is_reversed: true, .. }, Some(num_rounds)) => num_rounds - 1 - self.round,
            (Rounds::Rows { begins_with_carried: true, .. }, _) => self.round + 1,
            _ => self.round,
        }
    }

    /// Takes the values fetched by the program of the current phase. Returns whether the loop is
    /// over.
    fn end_phase(&mut self, fetched: Vec<Tensor>) -> Result<bool> {
        self.has_begun = false;
        match self.phase {
            Phase::Condition => {
                let goes_on = fetched.first().ok_or_else(|| Error::internal("the condition has no value"))?;
                if !goes_on.bool_scalar("The loop's condition")? {
                    return Ok(true);
                }
                self.phase = Phase::Body;
            }
            Phase::Body => {
                let mut fetched = fetched.into_iter();
                self.carried = fetched.by_ref().take(self.of.num_carried).collect();
                self.collected.iter_mut().zip(fetched).for_each(|(rows, row)| rows.push(row));
                self.round += 1;
                self.phase = self.of.first_phase();
            }
        }
        Ok(false)
    }

    fn outputs(&mut self) -> Result<Outputs> {
        if let Rounds::Rows { is_reversed: true, .. } = self.of.rounds {
            self.collected.iter_mut().for_each(|rows| rows.reverse());
        }
        let mut outputs: Outputs = std::mem::take(&mut self.carried).into();
        for (index, rows) in std::mem::take(&mut self.collected).into_iter().enumerate() {
            outputs.push(self.of.stack(index, &rows)?);
        }
        Ok(outputs)
    }
}

/// The number of rows in each sequence.
fn num_rows(sequences: &[Tensor]) -> Result<usize> {
    let rows = |sequence: &Tensor| sequence.shape().first().copied();
    let scalar = || {
        Error::invalid_argument("cannot loop over the rows of a scalar, expected a tensor of at least one dimension")
    };
    let first = sequences.first().and_then(rows).ok_or_else(scalar)?;
    for sequence in &sequences[1..] {
        let other = rows(sequence).ok_or_else(scalar)?;
        if other != first {
            let text =
                format!("cannot loop over tensors of {first} and {other} rows, expected the same number of rows");
            return Err(Error::invalid_argument(text));
        }
    }
    Ok(first)
}

impl Pending for Running {
    fn poll(&mut self, run: &Run) -> Result<Option<Outputs>> {
        // The function is called later.
        if self.call.is_some() { Ok(None) } else { self.advance(run) }
    }

    fn take_call(&mut self) -> Option<HostCall> {
        self.call.take()
    }

    fn give(&mut self, run: &Run, returned: Result<Outputs>) -> Result<()> {
        let of = Arc::clone(&self.of);
        let values = self.values[self.phase as usize].take();
        let values =
            values.ok_or_else(|| Error::internal("a loop received the result of a function before it started"))?;
        let mut frame = Frame::restore(of.program(self.phase), values);
        let provenances = run.replace_provenances(std::mem::take(&mut self.provenances));
        let result = frame.take_returned(run, &mut self.progress, returned);
        self.provenances = run.replace_provenances(provenances);
        self.values[self.phase as usize] = Some(frame.into_values());
        result.map_err(|error| of.explain(error, self.round))
    }

    fn description(&self) -> Option<Description> {
        self.progress.description()
    }

    fn cancel(&mut self) -> Error {
        let error = self.progress.cancel(self.of.program(self.phase));
        error.unwrap_or_else(|| Error::cancelled("Run call was cancelled"))
    }
}

#[cfg(test)]
mod tests;
