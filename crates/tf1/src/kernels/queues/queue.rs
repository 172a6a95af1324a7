//! `QueueEnqueueV2`, `QueueDequeueManyV2` and the other operations on a queue.

use crate::queue::{Elements, Progress, Queue, Waiting};
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::rewrite::Rewritable;
use headrace_engine::kernel::{Kernel, Outputs, Pending, Step, Tensors};
use headrace_engine::kernels::attrs::Attrs;
use headrace_engine::run::Run;
use headrace_engine::tensor::Tensor;
use headrace_engine::waits::Description;
use std::sync::Arc;

/// The attribute of enqueues that are repeated forever, and would never end if they enqueued no
/// rows.
const REFUSES_EMPTY: &str = "_refuses_empty";

struct QueueKernel {
    queue: Arc<Queue>,
    action: Action,
}

#[derive(Clone, Copy)]
enum Action {
    Enqueue,
    EnqueueMany { refuses_empty: bool },
    Dequeue,
    DequeueMany { is_up_to: bool },
    Close { cancel_pending: bool },
    Size,
    IsClosed,
}

/// Creates the kernel for operations on a queue. Returns `None` if `op_type` is not one.
pub fn build(op_type: &str, attrs: &Attrs, queue: &Arc<Queue>) -> Result<Option<Arc<dyn Kernel>>> {
    let action = match op_type {
        "QueueEnqueueV2" => Action::Enqueue,
        "QueueEnqueueManyV2" => Action::EnqueueMany { refuses_empty: attrs.bool(REFUSES_EMPTY).unwrap_or(false) },
        "QueueDequeueV2" => Action::Dequeue,
        "QueueDequeueManyV2" => Action::DequeueMany { is_up_to: false },
        "QueueDequeueUpToV2" => Action::DequeueMany { is_up_to: true },
        "QueueCloseV2" => Action::Close { cancel_pending: attrs.bool("cancel_pending_enqueues")? },
        "QueueSizeV2" => Action::Size,
        "QueueIsClosedV2" => Action::IsClosed,
        _ => return Ok(None),
    };
    if matches!(action, Action::DequeueMany { .. }) {
        queue.expect_batches();
    }
    Ok(Some(Arc::new(QueueKernel { queue: Arc::clone(queue), action })))
}

impl Kernel for QueueKernel {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let queue = &self.queue;
        let progress = match self.action {
            Action::Enqueue => queue.enqueue(inputs, run.parker())?,
            Action::EnqueueMany { refuses_empty } => {
                if refuses_empty && inputs.first().is_some_and(|rows| rows.shape().first() == Some(&0)) {
                    return Err(self.empty());
                }
                queue.enqueue_many(inputs, run.parker())?
            }
            Action::Dequeue => queue.dequeue(1, false, run.parker())?,
            Action::DequeueMany { is_up_to } => {
                queue.dequeue(self.count(&inputs, is_up_to)?, is_up_to, run.parker())?
            }
            Action::Close { cancel_pending } => queue.close(cancel_pending, run.parker())?,
            Action::Size => return Ok(Step::one(Tensor::scalar(i32::try_from(queue.size()).unwrap_or(i32::MAX)))),
            Action::IsClosed => return Ok(Step::one(Tensor::bool(queue.is_closed()))),
        };
        match progress {
            Progress::Done(elements) => self.outputs(elements).map(Step::Done),
            Progress::Waiting(waiting) => {
                let kernel = Self { queue: Arc::clone(queue), action: self.action };
                Ok(Step::Pending(Box::new(PendingRequest { kernel, waiting })))
            }
        }
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for QueueKernel {
    /// Only a single element is moved, or at most a kilobyte of it is copied.
    fn is_brief(&self) -> bool {
        !matches!(self.action, Action::EnqueueMany { .. } | Action::DequeueMany { .. })
    }
}

impl QueueKernel {
    #[cold]
    fn empty(&self) -> Error {
        Error::invalid_argument(format!(
            "{} '{}': its producer got no rows, expected at least one: without num_epochs it would wait forever. \
             Check the input (does any file match the pattern?), or set num_epochs.",
            self.queue.spec().class(),
            self.queue.spec().name
        ))
    }

    fn count(&self, inputs: &Tensors, is_up_to: bool) -> Result<usize> {
        let count = inputs.first().ok_or_else(|| Error::internal("n is missing"))?.integer_scalar("n")?;
        let count = usize::try_from(count).map_err(|_| {
            let class = if is_up_to { "DequeueUpToOp" } else { "DequeueManyOp" };
            Error::invalid_argument(format!("{class} requested {count} < 0 elements"))
        })?;
        self.queue.spec().known_shapes().map(|_| count)
    }

    /// Returns the outputs of the operation: nothing, one element, or a batch.
    fn outputs(&self, elements: Elements) -> Result<Outputs> {
        match self.action {
            Action::Dequeue => self.queue.one(elements),
            Action::DequeueMany { .. } => self.queue.batch(elements),
            _ => Ok(Outputs::new()),
        }
    }
}

struct PendingRequest {
    kernel: QueueKernel,
    waiting: Waiting,
}

impl Pending for PendingRequest {
    fn poll(&mut self, _run: &Run) -> Result<Option<Outputs>> {
        match self.waiting.poll() {
            Some(outcome) => self.kernel.outputs(outcome?).map(Some),
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
