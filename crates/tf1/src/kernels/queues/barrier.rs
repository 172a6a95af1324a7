//! `BarrierInsertMany`, `BarrierTakeMany`, `BarrierClose`, `BarrierReadySize`,
//! `BarrierIncompleteSize`.

use crate::barrier::Barrier;
use crate::queue::{Progress, Waiting};
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::{Kernel, Outputs, Pending, Step, Tensors};
use headrace_engine::kernels::attrs::Attrs;
use headrace_engine::run::Run;
use headrace_engine::tensor::Tensor;
use headrace_engine::waits::Description;
use std::sync::Arc;

struct BarrierKernel {
    barrier: Arc<Barrier>,
    action: Action,
}

#[derive(Clone, Copy)]
enum Action {
    Insert { component: usize },
    Take { is_up_to: bool },
    Close { cancels: bool },
    ReadySize,
    IncompleteSize,
}

/// Creates the kernel for operations on a barrier. Returns `None` if `op_type` is not one.
pub fn build(op_type: &str, attrs: &Attrs, barrier: &Arc<Barrier>) -> Result<Option<Arc<dyn Kernel>>> {
    let action = match op_type {
        "BarrierInsertMany" => Action::Insert { component: component(attrs.int("component_index")?)? },
        "BarrierTakeMany" => {
            if attrs.int("timeout_ms")? != -1 {
                return Err(Error::invalid_argument("Timeout not supported yet."));
            }
            Action::Take { is_up_to: attrs.bool("allow_small_batch")? }
        }
        "BarrierClose" => Action::Close { cancels: attrs.bool("cancel_pending_enqueues")? },
        "BarrierReadySize" => Action::ReadySize,
        "BarrierIncompleteSize" => Action::IncompleteSize,
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(BarrierKernel { barrier: Arc::clone(barrier), action })))
}

fn component(index: i64) -> Result<usize> {
    usize::try_from(index).map_err(|_| {
        Error::invalid_argument(format!("component_index is {index}, expected 0 or more. It is a position."))
    })
}

impl Kernel for BarrierKernel {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let barrier = &self.barrier;
        let size = |size: usize| Step::one(Tensor::scalar(i32::try_from(size).unwrap_or(i32::MAX)));
        match (self.action, inputs.as_slice()) {
            (Action::Insert { component }, [keys, values]) => {
                barrier.insert(component, keys, values).map(|()| Step::none())
            }
            (Action::Take { is_up_to }, [count]) => {
                match barrier.take(num_elements(count)?, is_up_to, run.parker())? {
                    Progress::Done(elements) => barrier.batch(elements).map(Step::Done),
                    Progress::Waiting(waiting) => {
                        Ok(Step::Pending(Box::new(PendingTake { barrier: Arc::clone(barrier), waiting })))
                    }
                }
            }
            (Action::Close { cancels }, []) => barrier.close(cancels).map(|()| Step::none()),
            (Action::ReadySize, []) => Ok(size(barrier.ready_size())),
            (Action::IncompleteSize, []) => Ok(size(barrier.incomplete_size())),
            _ => Err(Error::internal(format!("a barrier got {} inputs", inputs.len()))),
        }
    }
}

fn num_elements(count: &Tensor) -> Result<usize> {
    if !count.shape().is_empty() {
        return Err(Error::invalid_argument("num_elements must be a scalar."));
    }
    let count = count.integer_scalar("num_elements")?;
    usize::try_from(count)
        .map_err(|_| Error::invalid_argument(format!("num_elements is {count}, expected 0 or more elements to take.")))
}

struct PendingTake {
    barrier: Arc<Barrier>,
    waiting: Waiting,
}

impl Pending for PendingTake {
    fn poll(&mut self, _run: &Run) -> Result<Option<Outputs>> {
        match self.waiting.poll() {
            Some(outcome) => self.barrier.batch(outcome?).map(Some),
            None => Ok(None),
        }
    }

    fn description(&self) -> Option<Description> {
        Some(self.waiting.description())
    }

    fn cancel(&mut self) -> Error {
        self.waiting.cancel()
    }
}
