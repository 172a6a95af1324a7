//! Runs kernels as programs do.

use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::Step;
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::kernels::build;
use headrace_engine::run::Run;
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::sync::OnceLock;

/// Creates attributes from their names and values.
pub fn attrs(items: impl IntoIterator<Item = (&'static str, Attr)>) -> Attrs {
    let mut attrs = Attrs::default();
    items.into_iter().for_each(|(name, value)| attrs.insert(name, value));
    attrs
}

/// Runs an operation once.
pub fn run(op_type: &str, attrs: &Attrs, inputs: impl IntoIterator<Item = Tensor>) -> Result<Vec<Tensor>> {
    let kernel = build(op_type, attrs)?.ok_or_else(|| Error::internal(format!("no kernel {op_type}")))?;
    match kernel.run(&Run::new(&Cancellation::new()), inputs.into_iter().collect())? {
        Step::Done(outputs) => Ok(outputs.into_vec()),
        Step::Pending(_) => Err(Error::internal("the kernel waits")),
    }
}

/// Where the memory for encoded files comes from, if not from the allocator.
static PLACE: OnceLock<fn(&[u8]) -> Bytes> = OnceLock::new();

/// Makes this function copy encoded files from now on, for example to place them before a page that
/// cannot be read. Only the first call has an effect.
pub fn place_files(place: fn(&[u8]) -> Bytes) {
    let _ = PLACE.set(place);
}

/// A scalar string.
pub fn string(bytes: &[u8]) -> Tensor {
    match PLACE.get() {
        Some(place) => Tensor::string(place(bytes)),
        None => Tensor::string(bytes.to_vec()),
    }
}

/// Creates a vector of strings.
pub fn strings<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Result<Tensor> {
    let values: Vec<_> = values.into_iter().map(|value| value.to_vec().into()).collect();
    Tensor::strings(Shape::new(&[values.len()]), values)
}

/// Creates a vector without elements, which is the default of something required.
pub fn nothing(dtype: DType) -> Result<Tensor> {
    Tensor::empty(dtype, Shape::new(&[0]))
}
