//! `Split`, `SplitV` and `Unpack`: split a tensor along one of its axes.

use super::position;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use smallvec::SmallVec;

/// Maps `(axis, tensor)` to equal parts of the tensor.
///
/// Source: `tf.split` in TensorFlow 1.15.
pub struct Split {
    num_parts: usize,
}

/// Maps `(tensor, sizes, axis)` to parts with these sizes. One size may be -1, which is then
/// computed.
pub struct SplitBySizes {
    num_parts: usize,
}

/// Returns the slices along an axis, without that axis.
///
/// Source: `tf.unstack` in TensorFlow 1.15.
pub struct Unpack {
    num_parts: usize,
    axis: i64,
}

fn count(attrs: &Attrs, name: &str) -> Result<usize> {
    let count = attrs.int(name)?;
    usize::try_from(count).map_err(|_| Error::internal(format!("{name} is {count}, expected at least 0")))
}

impl Split {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { num_parts: count(attrs, "num_split")?.max(1) })
    }
}

impl SplitBySizes {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { num_parts: count(attrs, "num_split")? })
    }
}

impl Unpack {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { num_parts: count(attrs, "num")?, axis: attrs.int("axis")? })
    }
}

impl Kernel for Split {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [axis, tensor] = expect_inputs(&inputs)?;
        let axis = axis_of(axis, tensor)?;
        let size = tensor.shape()[axis];
        if !size.is_multiple_of(self.num_parts) {
            return Err(Error::invalid_argument(format!(
                "Number of ways to split should evenly divide the split dimension, but got split_dim {axis} \
                 (size = {size}) and num_split {}",
                self.num_parts
            )));
        }
        let sizes = std::iter::repeat_n(size / self.num_parts, self.num_parts);
        parts(tensor, axis, sizes).collect::<Result<_>>().map(Step::Done)
    }
}

impl Kernel for SplitBySizes {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, sizes, axis] = expect_inputs(&inputs)?;
        if sizes.shape().len() != 1 || sizes.num_elements() != self.num_parts {
            return Err(Error::invalid_argument(format!(
                "size of the split_tensor must be 1-D and have the same elements as outputs got {} -D and {} elements",
                sizes.shape().len(),
                sizes.num_elements()
            )));
        }
        let axis = axis_of(axis, tensor)?;
        let sizes = complete(&sizes.integers()?, tensor.shape()[axis])?;
        parts(tensor, axis, sizes.into_iter()).collect::<Result<_>>().map(Step::Done)
    }
}

impl Kernel for Unpack {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor] = expect_inputs(&inputs)?;
        let (shape, rank) = (tensor.shape(), tensor.shape().len());
        let least = -(rank as i64);
        let axis = position(self.axis, rank)
            .ok_or_else(|| Error::invalid_argument(format!("axis = {} not in [{least}, {rank})", self.axis)))?;
        if shape[axis] != self.num_parts {
            return Err(Error::invalid_argument(format!(
                "Input shape axis {} must equal {}, got shape {shape}",
                self.axis, self.num_parts
            )));
        }
        let (before, after) = (&shape[..axis], &shape[axis + 1..]);
        let slice = |part: Result<Tensor>| part?.reshaped(before.iter().chain(after).copied().collect());
        parts(tensor, axis, std::iter::repeat_n(1, self.num_parts)).map(slice).collect::<Result<_>>().map(Step::Done)
    }
}

/// Returns the axis along which a tensor is split.
fn axis_of(axis: &Tensor, tensor: &Tensor) -> Result<usize> {
    let (axis, rank) = (axis.integer_scalar("split_dim")?, tensor.shape().len());
    position(axis, rank).ok_or_else(|| {
        let text = format!("-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}");
        Error::invalid_argument(text)
    })
}

/// Returns the sizes of parts that fill an axis.
fn complete(sizes: &[i64], total: usize) -> Result<SmallVec<[usize; 4]>> {
    let num_open = sizes.iter().filter(|size| **size == -1).count();
    if num_open > 1 {
        return Err(Error::invalid_argument("There can only be one -1 in the input."));
    }
    if let Some((index, size)) = sizes.iter().enumerate().find(|(_, size)| **size < -1) {
        let text = format!("Split size at index {index} must be >= 0. Got: {size}");
        return Err(Error::invalid_argument(text));
    }
    let sum: u128 = sizes.iter().filter_map(|size| u128::try_from(*size).ok()).sum();
    let left = (total as u128).checked_sub(sum).filter(|left| num_open == 1 || *left == 0).ok_or_else(|| {
        Error::invalid_argument(format!(
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less \
             than the size of the input along split_dim if not fully specified.  Got: {sum}"
        ))
    })?;
    Ok(sizes.iter().map(|size| usize::try_from(*size).unwrap_or(left as usize)).collect())
}

/// Returns consecutive parts with these sizes, which must fill the axis.
fn parts(tensor: &Tensor, axis: usize, sizes: impl Iterator<Item = usize>) -> impl Iterator<Item = Result<Tensor>> {
    #[expect(clippy::disallowed_methods, reason = "one for each axis")]
    let mut begin: SmallVec<[usize; 4]> = SmallVec::from_elem(0, tensor.shape().len());
    sizes.map(move |size| {
        let part = tensor.window(&begin, tensor.shape().with_size(axis, size));
        begin[axis] += size;
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run};
    use crate::tensor::shape::Shape;

    fn vector(values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn matrix() -> Tensor {
        vector(&[0, 1, 2, 3, 4, 5]).reshaped(Shape::new(&[2, 3])).unwrap()
    }

    fn split(num_parts: i64) -> Split {
        Split::from_attrs(&attrs([("num_split", Attr::Int(num_parts))])).unwrap()
    }

    fn by_sizes(num_parts: i64) -> SplitBySizes {
        SplitBySizes::from_attrs(&attrs([("num_split", Attr::Int(num_parts))])).unwrap()
    }

    fn unpack(num: i64, axis: i64) -> Unpack {
        Unpack::from_attrs(&attrs([("num", Attr::Int(num)), ("axis", Attr::Int(axis))])).unwrap()
    }

    #[test]
    fn axis_is_split_into_equal_parts() {
        let parts = run(&split(2), &[Tensor::scalar(0), matrix()]).unwrap();
        assert_eq!((parts.len(), parts[1].shape()), (2, &Shape::new(&[1, 3])));
        assert_eq!(parts[1].values::<i64>().unwrap(), [3, 4, 5]);
        let parts = run(&split(3), &[Tensor::scalar(-1), matrix()]).unwrap();
        assert_eq!(parts[2].values::<i64>().unwrap(), [2, 5]);
        let text = error_text(&split(2), &[Tensor::scalar(1), matrix()]);
        let expected = "InvalidArgument: Number of ways to split should evenly divide the split dimension, but got \
                        split_dim 1 (size = 3) and num_split 2";
        assert_eq!(text, expected);
        let text = error_text(&split(2), &[Tensor::scalar(2), matrix()]);
        assert_eq!(text, "InvalidArgument: -input rank(-2) <= split_dim < input rank (2), but got 2");
    }

    #[test]
    fn axis_is_split_into_parts_of_specified_sizes() {
        let sizes = |sizes: &[i64]| {
            let parts = run(&by_sizes(sizes.len() as i64), &[matrix(), vector(sizes), Tensor::scalar(1)]);
            parts.map_err(|error| error.message().to_owned())
        };
        let parts = sizes(&[1, -1, 0]).unwrap();
        assert_eq!(parts[0].values::<i64>().unwrap(), [0, 3]);
        assert_eq!(parts[1].values::<i64>().unwrap(), [1, 2, 4, 5]);
        assert_eq!(parts[2].shape(), &Shape::new(&[2, 0]));
        assert_eq!(sizes(&[-1, -1]).unwrap_err(), "There can only be one -1 in the input.");
        assert_eq!(sizes(&[4, -2]).unwrap_err(), "Split size at index 1 must be >= 0. Got: -2");
        for wrong in [&[1, 1][..], &[4, -1], &[i64::MAX, i64::MAX]] {
            assert!(sizes(wrong).unwrap_err().starts_with("Determined shape must either match"));
        }
        let text = error_text(&by_sizes(2), &[matrix(), vector(&[3]), Tensor::scalar(1)]);
        assert!(text.ends_with("same elements as outputs got 1 -D and 1 elements"), "{text}");
    }

    #[test]
    fn unpacked_slices_lose_the_axis() {
        let rows = run(&unpack(2, 0), &[matrix()]).unwrap();
        assert_eq!(rows, [vector(&[0, 1, 2]), vector(&[3, 4, 5])]);
        let columns = run(&unpack(3, -1), &[matrix()]).unwrap();
        assert_eq!(columns, [vector(&[0, 3]), vector(&[1, 4]), vector(&[2, 5])]);
        assert_eq!(error_text(&unpack(2, 2), &[matrix()]), "InvalidArgument: axis = 2 not in [-2, 2)");
        let text = error_text(&unpack(2, -1), &[matrix()]);
        assert_eq!(text, "InvalidArgument: Input shape axis -1 must equal 2, got shape [2,3]");
    }
}
