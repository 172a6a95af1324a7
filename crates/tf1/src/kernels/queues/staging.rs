//! `Stage`, `Unstage`, `StagePeek`, `StageSize`, `StageClear`.

use crate::staging::{Progress, StagingArea, Take, Waiting};
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::{Kernel, Outputs, Pending, Step, Tensors};
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::run::Run;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::waits::Description;
use std::sync::Arc;

struct StageKernel {
    area: Arc<StagingArea>,
    action: Action,
    /// The dtypes of the tensors in an element that is taken.
    dtypes: Arc<[DType]>,
}

#[derive(Clone, Copy)]
enum Action {
    Put,
    Get,
    Peek,
    Size,
    Clear,
}

/// Creates the kernel for operations on a staging area. Returns `None` if `op_type` is not one.
pub fn build(op_type: &str, attrs: &Attrs, area: &Arc<StagingArea>) -> Result<Option<Arc<dyn Kernel>>> {
    let action = match op_type {
        "Stage" => Action::Put,
        "Unstage" => Action::Get,
        "StagePeek" => Action::Peek,
        "StageSize" => Action::Size,
        "StageClear" => Action::Clear,
        _ => return Ok(None),
    };
    let dtype = |attr: &Attr| match attr {
        Attr::DType(dtype) => Some(*dtype),
        _ => None,
    };
    let dtypes = attrs.list("dtypes", dtype)?.into();
    Ok(Some(Arc::new(StageKernel { area: Arc::clone(area), action, dtypes })))
}

impl Kernel for StageKernel {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let area = &self.area;
        let progress = match self.action {
            Action::Put => area.put(inputs, run.parker())?,
            Action::Get => area.take(Take::First, run.parker()),
            Action::Peek => area.take(Take::Copy(index(&inputs)?), run.parker()),
            Action::Size => return Ok(Step::one(Tensor::scalar(i32::try_from(area.size()).unwrap_or(i32::MAX)))),
            Action::Clear => {
                area.clear();
                return Ok(Step::none());
            }
        };
        Ok(match progress {
            Progress::Done(element) => Step::Done(self.outputs(element)?),
            Progress::Waiting(waiting) => {
                let kernel = Self { area: Arc::clone(area), action: self.action, dtypes: Arc::clone(&self.dtypes) };
                Step::Pending(Box::new(PendingCall { kernel, waiting }))
            }
        })
    }
}

impl StageKernel {
    /// Returns the outputs of the operation: nothing, or the element taken.
    fn outputs(&self, element: Tensors) -> Result<Outputs> {
        if matches!(self.action, Action::Put) {
            return Ok(element);
        }
        if element.len() != self.dtypes.len() {
            let (put, taken) = (element.len(), self.dtypes.len());
            return Err(Error::invalid_argument(format!("Mismatch stage/unstage: {put} vs. {taken}")));
        }
        match element.iter().zip(self.dtypes.iter()).find(|(tensor, dtype)| tensor.dtype() != **dtype) {
            Some((tensor, dtype)) => Err(Error::invalid_argument(format!(
                "Mismatch stage/unstage: a tensor of type {} was put, expected {dtype}",
                tensor.dtype()
            ))),
            None => Ok(element),
        }
    }
}

fn index(inputs: &Tensors) -> Result<usize> {
    let index = inputs.first().ok_or_else(|| Error::internal("index is missing"))?.integer_scalar("index")?;
    usize::try_from(index)
        .map_err(|_| Error::invalid_argument(format!("index is {index}, expected 0 or more. It is a position.")))
}

struct PendingCall {
    kernel: StageKernel,
    waiting: Waiting,
}

impl Pending for PendingCall {
    fn poll(&mut self, _run: &Run) -> Result<Option<Outputs>> {
        self.waiting.poll().map(|element| self.kernel.outputs(element)).transpose()
    }

    fn description(&self) -> Option<Description> {
        Some(self.waiting.description())
    }

    fn cancel(&mut self) -> Error {
        self.waiting.cancel()
    }
}
