//! Kernels: what a node of a program calls to turn inputs into outputs.

pub mod rewrite;

use crate::error::{Error, Result};
use crate::kernel::rewrite::Rewritable;
use crate::run::Run;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::sync::Arc;

/// The inputs of one operation, in order. Most have one or two, and every move copies the room for them.
pub type Tensors = SmallVec<[Tensor; 2]>;

/// The outputs of one operation, in order.
pub type Outputs = SmallVec<[Tensor; 2]>;

/// How far a kernel came.
#[allow(clippy::large_enum_variant, reason = "made and taken apart at once; a box would cost an allocation a call")]
pub enum Step {
    /// It is done, with these outputs.
    Done(Outputs),
    /// It would have blocked. The run polls it again when its parker is unparked, and meanwhile goes on
    /// with operations that do not depend on this one.
    Pending(Box<dyn Pending>),
}

impl Step {
    /// A finished step with one output.
    pub fn one(output: Tensor) -> Self {
        let mut outputs = Outputs::new();
        outputs.push(output);
        Self::Done(outputs)
    }

    /// A finished step without output.
    pub fn none() -> Self {
        Self::Done(SmallVec::new())
    }

    /// Puts the outputs into their places; see [`rewrite::Fill`].
    pub fn store(self, places: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>> {
        match self {
            Self::Done(outputs) => store(outputs, places).map(|()| None),
            Self::Pending(pending) => Ok(Some(pending)),
        }
    }
}

/// One operation of a program. All threads that run the program share its kernels.
pub trait Kernel: Send + Sync {
    /// Computes the outputs from the inputs. Must not block, but return [`Step::Pending`] instead.
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step>;

    /// This kernel as one that the passes over a program may replace; `None` if they may not.
    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        None
    }
}

/// Puts the outputs of an operation into their places. Fails if there is not one for each.
pub fn store(mut outputs: Outputs, places: &mut [Option<Tensor>]) -> Result<()> {
    if outputs.len() != places.len() {
        return Err(Error::internal(format!("{} outputs given, expected {}", outputs.len(), places.len())));
    }
    places.iter_mut().rev().for_each(|place| *place = outputs.pop());
    Ok(())
}

/// An operation that waits. Whoever can let it go on unparks the run's parker.
pub trait Pending: Send {
    /// Tries again; `None` while it still has to wait.
    fn poll(&mut self, run: &Run) -> Result<Option<Outputs>>;

    /// Gives up waiting, because the run was cancelled or failed elsewhere; the error says so in the
    /// operation's words.
    fn cancel(&mut self) -> Error;
}
