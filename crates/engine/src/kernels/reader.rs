//! `ReaderReadV2` and the other operations on a reader.

use super::attrs::Attrs;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Pending, Step, Tensors};
use crate::queue::Queue;
use crate::reader::{Answer, Call, Reader, Record, Request, check_names};
use crate::run::Run;
use crate::shape::Shape;
use crate::tensor::Tensor;
use std::sync::Arc;

struct ReaderKernel {
    reader: Arc<Reader>,
    action: Action,
}

enum Action {
    Read(Arc<Queue>),
    ReadUpTo(Arc<Queue>),
    NumRecordsProduced,
    NumWorkUnitsCompleted,
    Reset,
}

/// The kernel for operations on a reader (reads also need the queue of file names), or `None` if `op_type` is not one.
pub fn build(
    op_type: &str,
    _attrs: &Attrs,
    reader: &Arc<Reader>,
    queue: Option<&Arc<Queue>>,
) -> Result<Option<Arc<dyn Kernel>>> {
    let names = || queue.cloned().ok_or_else(|| Error::internal("a read without a queue of file names"));
    let action = match op_type {
        "ReaderReadV2" => Action::Read(names()?),
        "ReaderReadUpToV2" => Action::ReadUpTo(names()?),
        "ReaderNumRecordsProducedV2" => Action::NumRecordsProduced,
        "ReaderNumWorkUnitsCompletedV2" => Action::NumWorkUnitsCompleted,
        "ReaderResetV2" => Action::Reset,
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(ReaderKernel { reader: Arc::clone(reader), action })))
}

impl Kernel for ReaderKernel {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let (request, is_single) = self.request(&inputs)?;
        let mut call = PendingCall { call: self.reader.call(request, run), is_single };
        match call.poll(run)? {
            Some(outputs) => Ok(Step::Done(outputs)),
            None => Ok(Step::Pending(Box::new(call))),
        }
    }
}

impl ReaderKernel {
    /// The request, and whether its answer is one record and not a batch.
    fn request(&self, inputs: &Tensors) -> Result<(Request, bool)> {
        Ok(match &self.action {
            Action::Read(queue) => {
                check_names(queue)?;
                (Request::Read { queue: Arc::clone(queue), limit: 1 }, true)
            }
            Action::ReadUpTo(queue) => {
                check_names(queue)?;
                let limit = inputs.first().ok_or_else(|| Error::internal("num_records is missing"))?;
                let limit = usize::try_from(limit.integer_scalar("num_records")?).unwrap_or(0);
                (Request::Read { queue: Arc::clone(queue), limit }, false)
            }
            Action::NumRecordsProduced => (Request::NumRecordsProduced, false),
            Action::NumWorkUnitsCompleted => (Request::NumWorkUnitsCompleted, false),
            Action::Reset => (Request::Reset, false),
        })
    }
}

struct PendingCall {
    call: Call,
    is_single: bool,
}

impl Pending for PendingCall {
    fn poll(&mut self, run: &Run) -> Result<Option<Tensors>> {
        Ok(match self.call.poll(run)? {
            None => None,
            Some(Answer::Nothing) => Some(Tensors::new()),
            Some(Answer::Count(count)) => Some(Tensors::from_iter([Tensor::scalar(count)])),
            Some(Answer::Records(records)) => Some(outputs(records, self.is_single)?),
        })
    }

    fn cancel(&mut self) -> Error {
        self.call.cancel()
    }
}

/// Keys and values: scalars for one record, vectors for a batch.
fn outputs(records: Vec<Record>, is_single: bool) -> Result<Tensors> {
    let shape = if is_single { Shape::scalar() } else { Shape::new(&[records.len()]) };
    let (keys, values) = records.into_iter().map(|record| (record.key, record.value)).unzip();
    Ok(Tensors::from_iter([Tensor::strings(shape.clone(), keys)?, Tensor::strings(shape, values)?]))
}
