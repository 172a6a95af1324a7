//! What a node of a program does: a kernel turns inputs into outputs, or says that it has to wait.

use crate::error::{Error, Result};
use crate::run::Run;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::sync::Arc;

/// The inputs of one operation, in order.
pub type Tensors = SmallVec<[Tensor; 4]>;

/// The outputs of one operation, in order. They move several times; most operations have one.
pub type Outputs = SmallVec<[Tensor; 1]>;

/// How far a kernel came.
#[allow(clippy::large_enum_variant, reason = "made and taken apart at once; a box would cost an allocation a call")]
pub enum Step {
    Done(Outputs),
    /// It would have blocked. The run polls it again when its parker is unparked, and meanwhile goes on
    /// with operations that do not depend on this one.
    Pending(Box<dyn Pending>),
}

impl Step {
    /// A finished step with one output.
    pub fn one(output: Tensor) -> Self {
        Self::Done(SmallVec::from_buf([output]))
    }

    /// A finished step without output.
    pub fn none() -> Self {
        Self::Done(SmallVec::new())
    }
}

/// One operation of a program. Kernels are shared by all threads that run the program.
pub trait Kernel: Send + Sync {
    /// Computes the outputs from the inputs; must not block, but return [`Step::Pending`] instead.
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step>;

    /// The same kernel for the inputs that are `None` here, if it is quicker where the others never change.
    fn with_constants(&self, _inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
        None
    }
}

/// An operation that waits. Whoever can let it go on unparks the run's parker.
pub trait Pending {
    /// Tries again; `None` while it still has to wait.
    fn poll(&mut self, run: &Run) -> Result<Option<Outputs>>;

    /// Gives up waiting, because the run was cancelled or failed elsewhere; the error says so in the
    /// operation's words.
    fn cancel(&mut self) -> Error;
}
