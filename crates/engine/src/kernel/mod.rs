//! Kernels, which compute the outputs of a program's nodes from their inputs.

pub mod rewrite;

use crate::error::{Error, Result};
use crate::kernel::rewrite::Rewritable;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::waits::Description;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// The inputs of an operation, in order. Most have at most two, and every move copies the inline
/// storage, so it is kept small.
pub type Tensors = SmallVec<[Tensor; 2]>;

/// The outputs of an operation, in order.
pub type Outputs = SmallVec<[Tensor; 2]>;

/// A function in the host language. Its type is opaque to the engine.
pub type HostFunction = Arc<dyn Any + Send + Sync>;

/// A host function that has to be called now.
pub struct HostCall {
    /// The function.
    pub function: HostFunction,
    /// Its arguments.
    pub inputs: Tensors,
}

/// The result of running a kernel.
#[allow(clippy::large_enum_variant, reason = "made and taken apart at once; a box would cost an allocation a call")]
pub enum Step {
    /// Finished, with these outputs.
    Done(Outputs),
    /// The operation has to wait. The run polls it again when its parker is unparked, and meanwhile
    /// runs operations that don't depend on it.
    Pending(Box<dyn Pending>),
}

impl Step {
    /// Creates a finished step with one output.
    pub fn one(output: Tensor) -> Self {
        let mut outputs = Outputs::new();
        outputs.push(output);
        Self::Done(outputs)
    }

    /// Creates a finished step without outputs.
    pub fn none() -> Self {
        Self::Done(SmallVec::new())
    }

    /// Writes the outputs to `slots`; see [`rewrite::Fill`].
    pub fn store(self, slots: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>> {
        match self {
            Self::Done(outputs) => store(outputs, slots).map(|()| None),
            Self::Pending(pending) => Ok(Some(pending)),
        }
    }
}

/// An operation of a program. All threads that run the program share its kernels.
pub trait Kernel: Send + Sync {
    /// Computes the outputs from the inputs. Must not block; return [`Step::Pending`] instead.
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step>;

    /// Returns true if it may request calls of host functions; see [`Pending::take_call`].
    fn has_host_functions(&self) -> bool {
        false
    }

    /// Returns this kernel for passes that may replace it, or `None` if it must not be replaced.
    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        None
    }
}

/// Writes the outputs of an operation to `slots`. Fails unless there is exactly one slot per
/// output.
pub fn store(mut outputs: Outputs, slots: &mut [Option<Tensor>]) -> Result<()> {
    if outputs.len() != slots.len() {
        return Err(Error::internal(format!("got {} outputs, expected {}", outputs.len(), slots.len())));
    }
    slots.iter_mut().rev().for_each(|slot| *slot = outputs.pop());
    Ok(())
}

/// An operation that is waiting. The thread that makes it ready unparks the run's parker.
pub trait Pending: Send {
    /// Tries again. Returns `None` while it still has to wait.
    fn poll(&mut self, run: &Run) -> Result<Option<Outputs>>;

    /// Takes the host function call that the operation is waiting for. Pass the result to
    /// [`Pending::give`].
    fn take_call(&mut self) -> Option<HostCall> {
        None
    }

    /// Receives the result of the host function. The operation continues when it is polled.
    fn give(&mut self, _run: &Run, _returned: Result<Outputs>) -> Result<()> {
        Err(Error::internal("an operation received the result of a host function that it did not call"))
    }

    /// Describes the operation's wait.
    fn description(&self) -> Option<Description>;

    /// Stops waiting because the run was cancelled or failed elsewhere. Returns the operation's own
    /// error for that.
    fn cancel(&mut self) -> Error;
}
