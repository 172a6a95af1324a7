//! `Pack` and `ConcatV2`: join tensors along a new or an existing axis.

pub mod split;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Elements};
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use smallvec::SmallVec;

/// Stacks tensors of the same shape along a new axis.
///
/// Source: `tf.stack` in TensorFlow 1.15.
pub struct Pack {
    axis: i64,
}

/// Maps `(tensors, axis)` to the tensors joined along that axis. Their shapes may only differ in
/// the size of the axis.
///
/// Source: `tf.concat` in TensorFlow 1.15.
pub struct Concat;

impl Pack {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { axis: attrs.int("axis")? })
    }
}

impl Kernel for Pack {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let first = inputs.first().ok_or_else(|| Error::internal("Pack needs at least one input"))?;
        if let Some((index, other)) = inputs.iter().enumerate().find(|(_, tensor)| tensor.shape() != first.shape()) {
            return Err(Error::invalid_argument(format!(
                "Shapes of all inputs must match: values[0].shape = {} != values[{index}].shape = {}",
                first.shape(),
                other.shape()
            )));
        }
        let rank = first.shape().len() + 1;
        let axis = position(self.axis, rank)
            .ok_or_else(|| Error::invalid_argument(format!("axis = {} not in [-{rank}, {rank})", self.axis)))?;
        let (before, after) = first.shape().split_at(axis);
        let shape: Shape = before.iter().chain(&[inputs.len()]).chain(after).copied().collect();
        join(first.dtype(), shape, before.iter().product(), &inputs).map(Step::one)
    }
}

impl Kernel for Concat {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let Some((axis, tensors)) = inputs.split_last().filter(|(_, tensors)| !tensors.is_empty()) else {
            return Err(Error::internal("ConcatV2 needs at least one input"));
        };
        let (first, axis) = (tensors[0].shape(), axis.integer_scalar("axis")?);
        let rank = first.len();
        if rank == 0 {
            return Err(Error::invalid_argument("ConcatOp : Can't concatenate scalars (use tf.stack instead)"));
        }
        let axis = position(axis, rank).ok_or_else(|| {
            Error::invalid_argument(format!(
                "ConcatOp : Expected concatenating dimensions in the range [-{rank}, {rank}), but got {axis}"
            ))
        })?;
        for (index, tensor) in tensors.iter().enumerate() {
            let shape = tensor.shape();
            let both = || format!("shape[0] = {first} vs. shape[{index}] = {shape}");
            if shape.len() != rank {
                let text = format!("ConcatOp : Ranks of all input tensors should match: {}", both());
                return Err(Error::invalid_argument(text));
            }
            if (0..rank).any(|dim| dim != axis && shape[dim] != first[dim]) {
                return Err(Error::invalid_argument(format!(
                    "ConcatOp : Dimensions of inputs should match: {}",
                    both()
                )));
            }
        }
        let mut shape: Vec<usize> = first.to_vec();
        // If the sum overflows, there are too many elements for any tensor.
        shape[axis] = tensors.iter().fold(0_usize, |sum, tensor| sum.saturating_add(tensor.shape()[axis]));
        join(tensors[0].dtype(), Shape::new(&shape), first[..axis].iter().product(), tensors).map(Step::one)
    }
}

/// Stacks one or more tensors of the same dtype and shape along a new first axis.
pub(crate) fn stack(tensors: &[Tensor]) -> Result<Tensor> {
    let first = tensors.first().ok_or_else(|| Error::internal("a stack needs at least one input"))?;
    join(first.dtype(), first.shape().batched(tensors.len()), 1, tensors)
}

/// Joins tensors along their first axis. The result has `length` rows.
pub(crate) fn concatenate(tensors: &[Tensor], length: usize) -> Result<Tensor> {
    let first = tensors.first().ok_or_else(|| Error::internal("expected at least one tensor to join"))?;
    join(first.dtype(), first.shape().with_size(0, length), 1, tensors)
}

/// The position of an axis. Negative numbers count from the end.
pub(crate) fn position(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

/// Joins tensors. Each of the `num_rows` rows of the result has a part of every tensor.
fn join(dtype: DType, shape: Shape, num_rows: usize, tensors: &[Tensor]) -> Result<Tensor> {
    if shape.contains(&0) {
        return Tensor::empty(dtype, shape); // There may be many empty rows.
    }
    if dtype == DType::String {
        let parts = allocate::collected(tensors.len(), tensors.iter().map(Tensor::string_values));
        let parts = parts.map_err(|refusal| refusal.of_tensor(dtype, &shape))?;
        let mut strings = allocate::elements(dtype, &shape).room()?;
        interleave(num_rows, &parts, &mut strings);
        return Tensor::strings(shape, strings);
    }
    let parts = tensors.iter().map(Tensor::stored);
    let parts: SmallVec<[_; 16]> = allocate::try_gathered_small("tensors to join", parts)?;
    // Single numbers (columns that become rows) are too small to be copied as slices.
    let is_single = parts.iter().all(|part| part.len() == num_rows * dtype.size());
    let elements = allocate::elements(dtype, &shape);
    let bytes = match dtype.size() {
        4 if is_single => interleaved_words::<4>(num_rows, &parts, elements)?,
        8 if is_single => interleaved_words::<8>(num_rows, &parts, elements)?,
        _ => {
            let mut bytes = elements.room()?;
            interleave(num_rows, &parts, &mut bytes);
            bytes
        }
    };
    Tensor::from_bytes(dtype, shape, bytes.into())
}

/// Like [`interleave`], for parts with `N` bytes per row.
fn interleaved_words<const N: usize>(num_rows: usize, parts: &[&[u8]], elements: Elements) -> Result<Vec<u8>> {
    if num_rows == 1 {
        let mut out = elements.room()?;
        parts.iter().flat_map(|part| part.first_chunk::<N>()).for_each(|word| out.extend_from_slice(word));
        return Ok(out);
    }
    let mut out = elements.zeros::<[u8; N]>()?;
    for (index, part) in parts.iter().enumerate() {
        let positions = out.iter_mut().skip(index).step_by(parts.len());
        positions.zip(part.as_chunks().0).for_each(|(position, word)| *position = *word);
    }
    Ok(out.into_flattened())
}

/// Appends the rows of all parts to `out`: the first row of each part, then the second row of each,
/// and so on.
fn interleave<T: Clone>(num_rows: usize, parts: &[&[T]], out: &mut Vec<T>) {
    for row in 0..num_rows {
        for part in parts {
            let length = part.len() / num_rows;
            out.extend_from_slice(&part[row * length..(row + 1) * length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};

    fn nothing(dims: &[usize]) -> Tensor {
        Tensor::empty(DType::Float32, Shape::new(dims)).unwrap()
    }

    #[test]
    fn joining_many_empty_rows_is_fast() {
        let parts = [nothing(&[1 << 40, 0]), nothing(&[1 << 40, 0]), Tensor::scalar(1)];
        assert_eq!(run_one(&Concat, &parts).unwrap().shape()[..], [1 << 40, 0]);
    }

    #[test]
    fn overflowing_sum_of_sizes_is_rejected() {
        let parts = [nothing(&[1 << 58, 0]), nothing(&[1 << 58, 0]), Tensor::scalar(0)];
        let text = "InvalidArgument: Shape [576460752303423488,0] would have more than 2**63 - 1 elements";
        assert_eq!(error_text(&Concat, &parts), text);
    }
}
