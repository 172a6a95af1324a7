//! `RecordInput`: batches of records in random order.

use crate::record_input::{Call, RecordInput, RecordInputSpec};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::kernel::{Kernel, Outputs, Pending, Step, Tensors};
use headrace_engine::kernels::attrs::Attrs;
use headrace_engine::run::Run;
use headrace_engine::waits::Description;
use std::sync::Arc;

/// Reads the properties of a record input from the attributes of its operation.
pub fn spec(name: String, files: Vec<Bytes>, attrs: &Attrs) -> Result<RecordInputSpec> {
    let size = |attr: &str| {
        let number = attrs.int(attr)?;
        usize::try_from(number)
            .map_err(|_| Error::invalid_argument(format!("RecordInput '{name}': {attr} should >= 0, got {number}")))
    };
    let compression = attrs.string("compression_type")?;
    let unknown = || Error::invalid_argument(format!("Not a valid compression_type: \"{compression}\""));
    Ok(RecordInputSpec {
        pattern: attrs.string("file_pattern")?.to_owned(),
        compression: Compression::from_name(compression).ok_or_else(unknown)?,
        batch_size: size("batch_size")?,
        buffer_size: size("file_buffer_size")?,
        parallelism: size("file_parallelism")?,
        shift_ratio: attrs.float("file_shuffle_shift_ratio")?,
        seed: attrs.int("file_random_seed")?,
        files,
        name,
    })
}

struct RecordInputKernel(Arc<RecordInput>);

/// Creates the kernel that takes batches from a record input.
pub fn build(input: &Arc<RecordInput>) -> Arc<dyn Kernel> {
    Arc::new(RecordInputKernel(Arc::clone(input)))
}

impl Kernel for RecordInputKernel {
    fn run(&self, run: &Run, _inputs: Tensors) -> Result<Step> {
        let mut call = PendingCall(self.0.next(run));
        match call.poll(run)? {
            Some(outputs) => Ok(Step::Done(outputs)),
            None => Ok(Step::Pending(Box::new(call))),
        }
    }
}

struct PendingCall(Call);

impl Pending for PendingCall {
    fn poll(&mut self, run: &Run) -> Result<Option<Outputs>> {
        Ok(self.0.poll(run)?.map(|records| Outputs::from_iter([records])))
    }

    fn description(&self) -> Option<Description> {
        Some(self.0.description())
    }

    fn cancel(&mut self) -> Error {
        Error::cancelled("RecordInput operation was cancelled while it waited for other calls")
    }
}
