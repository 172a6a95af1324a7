//! Stacks tensors of the same dtype and shape.

use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// Stacks tensors of the same dtype and shape along a new first dimension.
pub(super) fn stack(tensors: &[Tensor]) -> Result<Tensor> {
    let Some(first) = tensors.first() else { return Err(Error::internal("no rows to stack")) };
    check_alike(tensors.iter().map(|tensor| (tensor.dtype(), tensor.shape().clone())))?;
    let shape = first.shape().batched(tensors.len());
    let room = allocate::elements(first.dtype(), &shape);
    if first.dtype() == DType::String {
        let strings = tensors.iter().flat_map(Tensor::string_values).cloned();
        return Tensor::strings(shape.clone(), room.collect(strings)?);
    }
    let mut bytes = room.room()?;
    tensors.iter().for_each(|tensor| bytes.extend_from_slice(tensor.bytes()));
    Tensor::from_bytes(first.dtype(), shape.clone(), bytes.into())
}

/// Fails unless all rows have the same dtype and shape.
pub(super) fn check_alike(mut rows: impl Iterator<Item = (DType, Shape)>) -> Result<()> {
    let Some((dtype, shape)) = rows.next() else { return Ok(()) };
    match rows.find(|other| other.0 != dtype || other.1 != shape) {
        None => Ok(()),
        Some((other_dtype, other)) => Err(Error::invalid_argument(format!(
            "one example has {dtype} of shape {shape}, another {other_dtype} of shape {other}, expected the same in all \
             examples of a batch. Resize or pad them, or use padded_batch or batch(lists=...)"
        ))),
    }
}
