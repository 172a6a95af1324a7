//! Traces: when each operation of a run began and ended, and its outputs.
//!
//! A traced program calls its kernels through [`Traced`], so tracing does not slow down other
//! programs.

use crate::error::{Error, Result};
use crate::kernel::{HostCall, Kernel, Outputs, Pending, Step, Tensors};
use crate::run::Run;
use crate::sync::Mutex;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use crate::waits::Description;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One output of an operation.
pub struct Output {
    /// Its type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Shape,
    /// The memory of its elements.
    pub num_bytes: usize,
}

/// The span of one operation. Times are since 1970.
pub struct Span {
    /// The operation's name.
    pub name: Arc<str>,
    /// When the operation was called.
    pub begin: Duration,
    /// When it ended, including waits.
    pub end: Duration,
    /// The outputs.
    pub outputs: Vec<Output>,
}

/// Collects the spans of one run.
pub struct Trace {
    began: Instant,
    began_since_1970: Duration,
    spans: Mutex<Vec<Span>>,
}

impl Default for Trace {
    fn default() -> Self {
        // If the clock is set to a time before 1970, only differences matter.
        let began_since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { began: Instant::now(), began_since_1970, spans: Mutex::default() }
    }
}

impl Trace {
    /// The time since 1970, measured by a monotonic clock.
    pub fn now(&self) -> Duration {
        self.began_since_1970 + self.began.elapsed()
    }

    /// Takes the spans so far, in the order in which they ended.
    pub fn take(&self) -> Vec<Span> {
        std::mem::take(&mut *self.spans.lock())
    }

    fn add(&self, name: &Arc<str>, begin: Duration, outputs: &Outputs) {
        let end = self.now();
        let output = |tensor: &Tensor| Output {
            dtype: tensor.dtype(),
            shape: tensor.shape().clone(),
            num_bytes: tensor.num_bytes(),
        };
        let outputs = outputs.iter().map(output).collect();
        self.spans.lock().push(Span { name: Arc::clone(name), begin, end, outputs });
    }
}

/// A kernel whose calls are traced.
pub struct Traced {
    name: Arc<str>,
    kernel: Arc<dyn Kernel>,
    trace: Arc<Trace>,
}

impl Traced {
    /// Traces `kernel` as operation `name`.
    pub fn new(name: Arc<str>, kernel: Arc<dyn Kernel>, trace: Arc<Trace>) -> Self {
        Self { name, kernel, trace }
    }
}

impl Kernel for Traced {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let begin = self.trace.now();
        let step = self.kernel.run(run, inputs)?;
        Ok(match step {
            Step::Done(outputs) => {
                self.trace.add(&self.name, begin, &outputs);
                Step::Done(outputs)
            }
            Step::Pending(pending) => {
                let (name, trace) = (Arc::clone(&self.name), Arc::clone(&self.trace));
                Step::Pending(Box::new(TracedPending { name, pending, begin, trace }))
            }
        })
    }

    fn has_host_functions(&self) -> bool {
        self.kernel.has_host_functions()
    }
}

struct TracedPending {
    name: Arc<str>,
    pending: Box<dyn Pending>,
    begin: Duration,
    trace: Arc<Trace>,
}

impl Pending for TracedPending {
    fn poll(&mut self, run: &Run) -> Result<Option<Outputs>> {
        let outputs = self.pending.poll(run)?;
        if let Some(outputs) = &outputs {
            self.trace.add(&self.name, self.begin, outputs);
        }
        Ok(outputs)
    }

    fn take_call(&mut self) -> Option<HostCall> {
        self.pending.take_call()
    }

    fn give(&mut self, run: &Run, returned: Result<Outputs>) -> Result<()> {
        self.pending.give(run, returned)
    }

    fn description(&self) -> Option<Description> {
        self.pending.description()
    }

    fn cancel(&mut self) -> Error {
        self.pending.cancel()
    }
}
