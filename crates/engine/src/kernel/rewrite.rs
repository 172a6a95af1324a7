//! What a kernel offers to the passes that optimise a program (`program/passes/`).
//!
//! A kernel without any of this runs as well, only slower.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Pending, Step, Tensors};
use crate::run::Run;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::sync::Arc;

/// A kernel that can be replaced by a faster one where the program allows it.
pub trait Rewritable: Send + Sync {
    /// Whether a run takes a microsecond at most, not counting waits: it moves tensors and computes nothing.
    fn is_brief(&self) -> bool {
        false
    }

    /// A kernel of the inputs that are `None` here, if one is faster that knows the others, which never change.
    fn with_constants(&self, _inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The same kernel as one that changes its only input, which nothing else reads.
    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        None
    }

    /// The same kernel as one that writes its outputs to their slots.
    fn fill(self: Arc<Self>) -> Option<Arc<dyn Fill>> {
        None
    }
}

/// A kernel of one input whose only output replaces the input in its slot, so that no tensor moves.
pub trait InPlace: Send + Sync {
    /// Makes `value` what [`Kernel::run`] returns for it. After an error it may be anything.
    fn change(&self, value: &mut Tensor) -> Result<()>;
}

/// A kernel that writes its outputs to their slots instead of returning them in a [`Step`], which would move each once
/// more. Worth it for what is called for each record.
pub trait Fill: Send + Sync {
    /// As [`Kernel::run`], but fills `slots`, one for each output. Returns the operation if it has to wait.
    fn fill(&self, run: &Run, inputs: Tensors, slots: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>>;
}

/// [`Kernel::run`] for a kernel that is [`InPlace`].
pub fn run_in_place(kernel: &impl InPlace, mut inputs: Tensors) -> Result<Step> {
    let [value] = inputs.as_mut_slice() else {
        return Err(Error::internal(format!("{} inputs given, expected 1", inputs.len())));
    };
    kernel.change(value)?;
    Ok(Step::Done(inputs))
}

/// [`Kernel::run`] for a kernel that is [`Fill`] and has `num_outputs` outputs.
pub fn run_filling(kernel: &impl Fill, run: &Run, inputs: Tensors, num_outputs: usize) -> Result<Step> {
    #[expect(clippy::disallowed_methods, reason = "one for each output")]
    let mut slots: SmallVec<[Option<Tensor>; 2]> = SmallVec::from_elem(None, num_outputs);
    Ok(match kernel.fill(run, inputs, &mut slots)? {
        None => Step::Done(slots.into_iter().flatten().collect()),
        Some(pending) => Step::Pending(pending),
    })
}
