//! Runs of programs that call functions of the host language.
//!
//! The engine never calls such a function. The run stops where one is due and hands out its inputs; whoever runs the program
//! calls the function and resumes the run with what it returned. So no function of the host language ever runs on top of the
//! engine's frames, and it may do with its thread what it likes. Python ends daemon threads when the interpreter exits by
//! unwinding their stack by force, which aborts the process if there is a Rust frame on it.

use super::frame::{Progress, Values};
use super::{Frame, HostCall, Program, StopFlag};
use crate::error::{Error, Result};
use crate::kernel::Outputs;
use crate::run::{Origins, Run};
use crate::sync::parker::Parker;
use crate::tensor::Tensor;
use std::any::Any;
use std::sync::Arc;

/// A function of the host language, of whatever type it is there.
pub type HostFunction = Arc<dyn Any + Send + Sync>;

/// Where a run has stopped.
pub enum Stop {
    /// A function is to be called; [`Execution::resume`] takes what it returns.
    Call(HostCall),
    /// The run is over; the fetched values, none after a loop.
    Done(Vec<Tensor>),
}

/// A run of a program with host functions, or a loop of runs.
///
/// It belongs to one thread at a time. Dropping it ends the run; what waits leaves its queue.
pub struct Execution {
    program: Arc<Program>,
    /// The values so far; `None` once the run is over.
    values: Option<Values>,
    progress: Progress,
    /// Repeats the run until it is set.
    stop: Option<Arc<StopFlag>>,
    /// Not that of the thread: a function that is called may wait for something itself.
    parker: Arc<Parker>,
    origins: Origins,
}

impl Execution {
    /// One run, as [`Program::run`].
    pub fn once(program: &Arc<Program>, feeds: Vec<Tensor>) -> Result<Self> {
        let values = program.fed_frame(feeds)?.into_values();
        Ok(Self::new(program, values, None))
    }

    /// Runs until `stop` is set, as [`Program::run_loop`].
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
            origins: Origins::default(),
        }
    }

    /// The parker that each `run` given to this execution must have.
    pub fn parker(&self) -> &Arc<Parker> {
        &self.parker
    }

    /// Runs up to the first call of a host function.
    pub fn start(&mut self, run: &Run) -> Result<Stop> {
        self.with_frame(run, |this, frame| {
            if this.is_stopped() {
                return Ok(Stop::Done(Vec::new()));
            }
            run.check()?;
            this.advance(run, frame)
        })
    }

    /// Goes on with what the host function returned, up to the next call.
    pub fn resume(&mut self, run: &Run, returned: Result<Outputs>) -> Result<Stop> {
        self.with_frame(run, |this, frame| {
            frame.take_returned(run, &mut this.progress, returned)?;
            this.advance(run, frame)
        })
    }

    fn advance(&mut self, run: &Run, frame: &mut Frame) -> Result<Stop> {
        loop {
            if let Some(call) = frame.advance(run, &mut self.progress)? {
                return Ok(Stop::Call(call));
            }
            if self.stop.is_none() {
                return self.program.fetched(frame).map(Stop::Done);
            }
            self.progress = Progress::default();
            frame.clear();
            if self.is_stopped() {
                return Ok(Stop::Done(Vec::new()));
            }
            run.check()?;
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.is_set())
    }

    /// Lends `work` the values and the origins; keeps them if the run has stopped for a call.
    fn with_frame(&mut self, run: &Run, work: impl FnOnce(&mut Self, &mut Frame) -> Result<Stop>) -> Result<Stop> {
        let over = || Error::internal("the run is over");
        let program = Arc::clone(&self.program);
        let mut frame = Frame::restore(&program, self.values.take().ok_or_else(over)?);
        run.replace_origins(std::mem::take(&mut self.origins));
        let stop = work(self, &mut frame)?;
        if let Stop::Call(_) = stop {
            self.values = Some(frame.into_values());
            self.origins = run.replace_origins(Origins::default());
        }
        Ok(stop)
    }
}
