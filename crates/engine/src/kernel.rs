//! What a node of a program does: a kernel turns inputs into outputs, or says that it has to wait.

use crate::error::{Error, Result};
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

    /// Puts the outputs into their places; see [`Kernel::run_into`].
    pub fn store(self, places: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>> {
        match self {
            Self::Done(outputs) => store(outputs, places).map(|()| None),
            Self::Pending(pending) => Ok(Some(pending)),
        }
    }
}

/// One operation of a program. Kernels are shared by all threads that run the program.
pub trait Kernel: Send + Sync {
    /// Computes the outputs from the inputs; must not block, but return [`Step::Pending`] instead.
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step>;

    /// As [`Kernel::run`], but puts the outputs into their places, of which there is one for each, or says that it has to
    /// wait. What is called most does so without moving them through a [`Step`].
    fn run_into(&self, run: &Run, inputs: Tensors, places: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>> {
        self.run(run, inputs)?.store(places)
    }

    /// Whether a run takes a microsecond at most, waiting aside: it moves what is there and computes nothing.
    fn is_brief(&self) -> bool {
        false
    }

    /// The same kernel for the inputs that are `None` here, if it is quicker where the others never change.
    fn with_constants(&self, _inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The same kernel as one that changes its only input, where nobody else reads that; `None` if it cannot.
    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        None
    }
}

/// A kernel of one input whose only output takes the input's place, so that no tensor moves.
pub trait InPlace: Send + Sync {
    /// Makes `value` what [`Kernel::run`] returns for it. After an error it may be anything.
    fn change(&self, value: &mut Tensor) -> Result<()>;
}

/// A [`Kernel::run`] that is the same as [`InPlace::change`].
pub fn run_in_place(kernel: &impl InPlace, mut inputs: Tensors) -> Result<Step> {
    let [value] = inputs.as_mut_slice() else {
        return Err(Error::internal(format!("{} inputs given, expected 1", inputs.len())));
    };
    kernel.change(value)?;
    Ok(Step::Done(inputs))
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
