//! `ReaderReadV2` and the other operations on a reader, and the readers themselves.

use crate::queue::Queue;
use crate::reader::{
    Answer, Call, FixedLengthFormat, Format, IdentityFormat, Reader, Records, Request, TextLineFormat, TfRecordFormat,
    WholeFileFormat, check_names,
};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::kernel::rewrite::{Fill, Rewritable};
use headrace_engine::kernel::{Kernel, Outputs, Pending, Step, Tensors};
use headrace_engine::kernels::attrs::Attrs;
use headrace_engine::run::Run;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::shape::Shape;
use headrace_engine::waits::Description;
use smallvec::SmallVec;
use std::sync::Arc;

/// Creates the file format for a reader of type `op_type`. Fails if the attributes contradict each
/// other.
pub fn format(op_type: &str, attrs: &Attrs) -> Result<Box<dyn Format>> {
    Ok(match op_type {
        "FixedLengthRecordReaderV2" => {
            let sizes = ["record_bytes", "header_bytes", "footer_bytes", "hop_bytes"];
            let [record, header, footer, hop] = sizes.map(|name| attrs.int(name));
            // As in TensorFlow, an unknown encoding means none.
            let compression = Compression::from_name(attrs.string("encoding")?).unwrap_or_default();
            Box::new(FixedLengthFormat::new(record?, header?, footer?, hop?, compression)?)
        }
        "IdentityReaderV2" => Box::new(IdentityFormat),
        "TextLineReaderV2" => Box::new(TextLineFormat::new(attrs.int("skip_header_lines")?)?),
        "TFRecordReaderV2" => {
            let name = attrs.string("compression_type")?;
            let compression = Compression::from_name(name);
            let unknown = || Error::invalid_argument(format!("Not a valid compression_type: \"{name}\""));
            Box::new(TfRecordFormat { compression: compression.ok_or_else(unknown)? })
        }
        "WholeFileReaderV2" => Box::new(WholeFileFormat),
        _ => return Err(Error::unimplemented(format!("unknown reader {op_type}"))),
    })
}

/// The index of the output with the keys.
const KEYS: usize = 0;

struct ReaderKernel {
    reader: Arc<Reader>,
    action: Action,
}

enum Action {
    Read(Arc<Queue>),
    ReadUpTo(Arc<Queue>),
    NumRecordsProduced,
    NumWorkUnitsCompleted,
    SerializeState,
    RestoreState,
    Reset,
}

/// Creates the kernel for operations on a reader. Returns `None` if `op_type` is not one. Reads
/// also need the queue of file names.
pub fn build(op_type: &str, reader: &Arc<Reader>, queue: Option<&Arc<Queue>>) -> Result<Option<Arc<dyn Kernel>>> {
    let names = || queue.cloned().ok_or_else(|| Error::internal("a read needs a queue of file names"));
    let action = match op_type {
        "ReaderReadV2" => Action::Read(names()?),
        "ReaderReadUpToV2" => Action::ReadUpTo(names()?),
        "ReaderNumRecordsProducedV2" => Action::NumRecordsProduced,
        "ReaderNumWorkUnitsCompletedV2" => Action::NumWorkUnitsCompleted,
        "ReaderSerializeStateV2" => Action::SerializeState,
        "ReaderRestoreStateV2" => Action::RestoreState,
        "ReaderResetV2" => Action::Reset,
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(ReaderKernel { reader: Arc::clone(reader), action })))
}

impl Kernel for ReaderKernel {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let (request, is_single) = self.request(&inputs, run.is_read(KEYS))?;
        let mut call = PendingCall { call: self.reader.call(request, run), is_single };
        match call.poll(run)? {
            Some(outputs) => Ok(Step::Done(outputs)),
            None => Ok(Step::Pending(Box::new(call))),
        }
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for ReaderKernel {
    fn fill(self: Arc<Self>) -> Option<Arc<dyn Fill>> {
        Some(self)
    }
}

impl Fill for ReaderKernel {
    fn fill(&self, run: &Run, inputs: Tensors, slots: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>> {
        if let (Action::Read(queue), [key, value]) = (&self.action, &mut *slots) {
            check_names(queue)?;
            if let Some(record) = self.reader.read_at_once(run.is_read(KEYS), run)? {
                *key = run.is_read(KEYS).then(|| Tensor::string(record.0));
                *value = Some(Tensor::string(record.1));
                return Ok(None);
            }
        }
        self.run(run, inputs)?.store(slots)
    }
}

impl ReaderKernel {
    /// Returns the request of this operation, and whether its answer is a single record rather than
    /// a batch.
    fn request(&self, inputs: &Tensors, wants_keys: bool) -> Result<(Request, bool)> {
        Ok(match &self.action {
            Action::Read(queue) => {
                check_names(queue)?;
                (Request::Read { queue: Arc::clone(queue), limit: 1, wants_keys }, true)
            }
            Action::ReadUpTo(queue) => {
                check_names(queue)?;
                let limit = inputs.first().ok_or_else(|| Error::internal("num_records is missing"))?;
                let limit = limit.integer_scalar("num_records")?;
                let negative = |_| Error::invalid_argument(format!("num_records must be >= 0 not {limit}"));
                let limit = usize::try_from(limit).map_err(negative)?;
                (Request::Read { queue: Arc::clone(queue), limit, wants_keys }, false)
            }
            Action::NumRecordsProduced => (Request::NumRecordsProduced, false),
            Action::NumWorkUnitsCompleted => (Request::NumWorkUnitsCompleted, false),
            Action::SerializeState => (Request::SerializeState, false),
            Action::RestoreState => {
                let state = inputs.first().ok_or_else(|| Error::internal("the state is missing"))?;
                if !state.shape().is_empty() {
                    let text = format!("Reader state must be scalar, but had shape: {}", state.shape());
                    return Err(Error::invalid_argument(text));
                }
                (Request::RestoreState(state.string_scalar("state")?.clone()), false)
            }
            Action::Reset => (Request::Reset, false),
        })
    }
}

struct PendingCall {
    call: Call,
    is_single: bool,
}

impl Pending for PendingCall {
    fn poll(&mut self, run: &Run) -> Result<Option<Outputs>> {
        Ok(match self.call.poll(run)? {
            None => None,
            Some(Answer::Nothing) => Some(Outputs::new()),
            Some(Answer::Count(count)) => Some(Outputs::from_iter([Tensor::scalar(count)])),
            Some(Answer::State(state)) => Some(Outputs::from_iter([Tensor::string(state)])),
            Some(Answer::Records(records)) => Some(outputs(records, self.is_single)?),
        })
    }

    fn description(&self) -> Option<Description> {
        Some(self.call.description())
    }

    fn cancel(&mut self) -> Error {
        self.call.cancel()
    }
}

/// Returns keys and values, which are scalars for a single record and vectors for a batch.
fn outputs(records: Records, is_single: bool) -> Result<Outputs> {
    let tensor = |mut values: SmallVec<[Bytes; 1]>| match is_single {
        true => Ok(Tensor::string(values.pop().unwrap_or_default())),
        false => Tensor::strings_from_small_vec(Shape::new(&[values.len()]), values),
    };
    Ok(Outputs::from_iter([tensor(records.keys)?, tensor(records.values)?]))
}
