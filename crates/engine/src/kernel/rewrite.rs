//! The interface between kernels and the passes that optimise a program (`program/passes/`).
//!
//! It is optional: a kernel that implements none of it works, but more slowly.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Pending, Step, Tensors};
use crate::run::Run;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::sync::Arc;

/// A kernel that a pass may replace with a faster one.
pub trait Rewritable: Send + Sync {
    /// Returns true if a run takes at most a microsecond, not counting waits, because it only moves
    /// tensors.
    fn is_brief(&self) -> bool {
        false
    }

    /// Returns a faster kernel for fixed values of some inputs. Inputs without a fixed value are
    /// `None`. The new kernel only gets the other inputs.
    fn with_constants(&self, _inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// Returns the same kernel in a form that changes its only input in place. It is used if
    /// nothing else reads the input.
    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        None
    }

    /// Returns the same kernel in a form that writes its outputs directly to their slots.
    fn fill(self: Arc<Self>) -> Option<Arc<dyn Fill>> {
        None
    }
}

/// A kernel with a single input, whose only output replaces the input in its slot. No tensor has to
/// be moved.
pub trait InPlace: Send + Sync {
    /// Replaces `value` with the result of [`Kernel::run`] for it. After an error, its content is
    /// unspecified.
    fn change(&self, value: &mut Tensor) -> Result<()>;
}

/// A kernel that writes its outputs to their slots instead of returning them in a [`Step`], which
/// would move each of them once more. This pays off for kernels that run for each record.
pub trait Fill: Send + Sync {
    /// Like [`Kernel::run`], but fills `slots`, one per output. Returns the operation if it has to
    /// wait.
    fn fill(&self, run: &Run, inputs: Tensors, slots: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>>;
}

/// Implements [`Kernel::run`] for a kernel that is [`InPlace`].
pub fn run_in_place(kernel: &impl InPlace, mut inputs: Tensors) -> Result<Step> {
    let [value] = inputs.as_mut_slice() else {
        return Err(Error::internal(format!("got {} inputs, expected 1", inputs.len())));
    };
    kernel.change(value)?;
    Ok(Step::Done(inputs))
}

/// Implements [`Kernel::run`] for a kernel that is [`Fill`] and has `num_outputs` outputs.
pub fn run_filling(kernel: &impl Fill, run: &Run, inputs: Tensors, num_outputs: usize) -> Result<Step> {
    #[expect(clippy::disallowed_methods, reason = "one for each output")]
    let mut slots: SmallVec<[Option<Tensor>; 2]> = SmallVec::from_elem(None, num_outputs);
    Ok(match kernel.fill(run, inputs, &mut slots)? {
        None => Step::Done(slots.into_iter().flatten().collect()),
        Some(pending) => Step::Pending(pending),
    })
}
