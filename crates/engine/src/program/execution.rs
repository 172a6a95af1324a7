//! Runs of programs that call host functions.
//!
//! The engine never calls such a function itself. Instead the run stops and returns the function
//! with its inputs. The caller calls the function and resumes the run with the results, so a host
//! function never has a stack frame of the engine below it. This matters for Python: when the
//! interpreter exits, it ends daemon threads by unwinding their stacks, which aborts the process
//! when it reaches a Rust frame.

use super::frame::{Halt, Progress, Values};
use super::{Frame, Program, StopFlag};
use crate::error::{Error, Result};
use crate::kernel::{HostCall, Outputs};
use crate::run::{RecordProvenances, Run};
use crate::sync::parker::Parker;
use crate::tensor::Tensor;
use crate::tensor_array::TensorArrays;
use std::sync::Arc;

/// Why a run has stopped.
pub enum Stop {
    /// A function has to be called. Pass its results to [`Execution::resume`].
    Call(HostCall),
    /// The run is over. Contains the fetched values, or none after a loop.
    Done(Vec<Tensor>),
}

/// A run of a program with host functions, or a loop of runs.
///
/// Only one thread uses it at a time. Dropping it ends the run and cancels its waits.
pub struct Execution {
    program: Arc<Program>,
    /// The values so far, or `None` after the run.
    values: Option<Values>,
    progress: Progress,
    /// If set, the run is repeated until this flag is set.
    stop: Option<Arc<StopFlag>>,
    /// Not the thread's own parker, because the called functions may need that for their own waits.
    parker: Arc<Parker>,
    provenances: RecordProvenances,
    arrays: TensorArrays,
}

impl Execution {
    /// Prepares a single run, like [`Program::run`].
    pub fn once(program: &Arc<Program>, feeds: Vec<Tensor>) -> Result<Self> {
        let values = program.fed_frame(feeds)?.into_values();
        Ok(Self::new(program, values, None))
    }

    /// Prepares runs that are repeated until `stop` is set, like [`Program::run_loop`].
    pub fn repeated(program: &Arc<Program>, stop: &Arc<StopFlag>) -> Result<Self> {
        let values = program.loop_frame()?.into_values();
        Ok(Self::new(program, values, Some(Arc::clone(stop))))
    }

    fn new(program: &Arc<Program>, values: Values, stop: Option<Arc<StopFlag>>) -> Self {
        Self {
            program: Arc::clone(program),
            values: Some(values),
            progress: Progress::default(),
            stop,
            parker: Arc::new(Parker::new()),
            provenances: RecordProvenances::default(),
            arrays: TensorArrays::default(),
        }
    }

    /// The parker that every `run` of this execution must use.
    pub fn parker(&self) -> &Arc<Parker> {
        &self.parker
    }

    /// Runs until the first call of a host function.
    pub fn start(&mut self, run: &Run) -> Result<Stop> {
        self.with_frame(run, |this, frame| {
            if this.is_stopped() {
                return Ok(Stop::Done(Vec::new()));
            }
            run.check()?;
            this.advance(run, frame)
        })
    }

    /// Resumes with the results of the host function and runs until the next call.
    pub fn resume(&mut self, run: &Run, returned: Result<Outputs>) -> Result<Stop> {
        self.with_frame(run, |this, frame| {
            frame.take_returned(run, &mut this.progress, returned)?;
            this.advance(run, frame)
        })
    }

    fn advance(&mut self, run: &Run, frame: &mut Frame) -> Result<Stop> {
        loop {
            match frame.advance(run, &mut self.progress)? {
                Halt::Call(call) => return Ok(Stop::Call(call)),
                Halt::Done => {}
                Halt::Blocked => return Err(Error::internal("a run that may block has not")),
            }
            if self.stop.is_none() {
                return self.program.fetched(frame).map(Stop::Done);
            }
            self.progress = Progress::default();
            frame.clear();
            run.replace_arrays(TensorArrays::default());
            if self.is_stopped() {
                return Ok(Stop::Done(Vec::new()));
            }
            run.check()?;
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.is_set())
    }

    /// Calls `work` with the values and provenances, and keeps them if the run has stopped for a
    /// call.
    fn with_frame(&mut self, run: &Run, work: impl FnOnce(&mut Self, &mut Frame) -> Result<Stop>) -> Result<Stop> {
        let over = || Error::internal("the run is over");
        let program = Arc::clone(&self.program);
        let mut frame = Frame::restore(&program, self.values.take().ok_or_else(over)?);
        run.replace_provenances(std::mem::take(&mut self.provenances));
        run.replace_arrays(std::mem::take(&mut self.arrays));
        let stop = work(self, &mut frame)?;
        if let Stop::Call(_) = stop {
            self.values = Some(frame.into_values());
            self.provenances = run.replace_provenances(RecordProvenances::default());
            self.arrays = run.replace_arrays(TensorArrays::default());
        }
        Ok(stop)
    }
}
