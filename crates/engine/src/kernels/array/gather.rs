//! `GatherV2` and `BooleanMask`: pick slices along an axis.

use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use bytemuck::Zeroable;
use smallvec::SmallVec;

/// Maps `(tensor, indices, axis)` to the slices of `tensor` at these indices. The axes of `indices`
/// replace `axis`.
///
/// Source: `tf.gather` in TensorFlow 1.15.
pub struct Gather;

impl Kernel for Gather {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, indices, axis] = expect_inputs(&inputs)?;
        gather(tensor, indices, axis.integer_scalar("axis")?).map(Step::one)
    }
}

fn gather(tensor: &Tensor, indices: &Tensor, axis: i64) -> Result<Tensor> {
    let (shape, rank) = (tensor.shape(), tensor.shape().len() as i64);
    if rank == 0 {
        return Err(Error::invalid_argument("params must be at least 1 dimensional"));
    }
    if !(-rank..rank).contains(&axis) {
        let text = format!("Expected axis in the range [{}, {rank}), but got {axis}", -rank);
        return Err(Error::invalid_argument(text));
    }
    let axis = axis.rem_euclid(rank) as usize;
    let positions = checked(indices, shape[axis])?;
    if axis == 0 {
        return tensor.take_rows(&positions, indices.shape());
    }
    let (before, after) = (&shape[..axis], &shape[axis + 1..]);
    let gathered = before.iter().chain(indices.shape().iter()).chain(after).copied().collect();
    tensor.take_along(axis, &positions)?.reshaped(gathered)
}

/// Maps `(tensor, mask)` to the slices of `tensor` where the mask is true or non-zero. A single
/// axis replaces the masked axes.
///
/// Source: `tf.boolean_mask` in TensorFlow 1.15. As in TensorFlow, only the number of elements in
/// the masked axes matters.
pub struct BooleanMask {
    /// The first of the masked axes.
    axis: usize,
}

impl BooleanMask {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let axis = attrs.int("axis")?;
        usize::try_from(axis).map(|axis| Self { axis }).map_err(|_| Error::internal(format!("axis is {axis}")))
    }
}

impl Kernel for BooleanMask {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, mask] = expect_inputs(&inputs)?;
        let (before, rest) = tensor.shape().split_at(self.axis.min(tensor.shape().len()));
        let (masked, after) = rest.split_at(mask.shape().len().min(rest.len()));
        let flat = before.iter().copied().chain([masked.iter().product()]).chain(after.iter().copied()).collect();
        let indices = indices_of_true(mask)?;
        gather(&tensor.clone().reshaped(flat)?, &indices, self.axis as i64).map(Step::one)
    }
}

/// Returns the positions of true elements as a vector.
fn indices_of_true(mask: &Tensor) -> Result<Tensor> {
    if mask.dtype() == DType::Bool {
        return indices_where(mask.bytes().iter().map(|value| *value != 0));
    }
    let unsupported = || Error::unimplemented(format!("a mask of {} is not supported", mask.dtype()));
    dispatch_numeric!(
        mask.dtype(),
        T => indices_where(mask.values::<T>()?.iter().map(|value| *value != T::zeroed())),
        else => Err(unsupported())
    )
}

fn indices_where(is_true: impl Iterator<Item = bool> + Clone) -> Result<Tensor> {
    let shape = Shape::new(&[is_true.clone().filter(|is_true| *is_true).count()]);
    let positions = is_true.enumerate().filter(|(_, is_true)| *is_true).map(|(position, _)| position as i64);
    let positions = allocate::elements(DType::Int64, &shape).collect(positions)?;
    Tensor::from_values(shape, positions)
}

fn checked(indices: &Tensor, limit: usize) -> Result<SmallVec<[usize; 8]>> {
    let within = |(position, index): (usize, i64)| match usize::try_from(index) {
        Ok(row) if row < limit => Ok(row),
        _ => Err(out_of_range(indices.shape(), position, index, limit)),
    };
    match indices.dtype() {
        DType::Int32 => {
            let indices = indices.values::<i32>()?.iter().map(|index| i64::from(*index));
            allocate::try_gathered_small("indices", indices.enumerate().map(within))
        }
        DType::Int64 => {
            let indices = indices.values::<i64>()?.iter().copied();
            allocate::try_gathered_small("indices", indices.enumerate().map(within))
        }
        dtype => Err(Error::invalid_argument(format!("indices must be int32 or int64, got {dtype}"))),
    }
}

fn out_of_range(shape: &Shape, mut position: usize, index: i64, limit: usize) -> Error {
    let mut coordinates: Vec<String> = Vec::new();
    for size in shape.iter().rev() {
        coordinates.insert(0, (position % size).to_string());
        position /= size;
    }
    let at = if coordinates.is_empty() { String::new() } else { format!("[{}]", coordinates.join(",")) };
    Error::invalid_argument(format!("indices{at} = {index} is not in [0, {limit})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};

    fn rows() -> Tensor {
        Tensor::from_values(Shape::new(&[3, 2]), vec![0_i32, 1, 10, 11, 20, 21]).unwrap()
    }

    #[test]
    fn rows_are_gathered_in_index_order() {
        let indices = Tensor::from_values(Shape::new(&[2, 1]), vec![2_i64, 0]).unwrap();
        let taken = run_one(&Gather, &[rows(), indices, Tensor::scalar(0_i32)]).unwrap();
        assert_eq!((taken.shape(), taken.values::<i32>().unwrap()), (&Shape::new(&[2, 1, 2]), &[20, 21, 0, 1][..]));
        let one = run_one(&Gather, &[rows(), Tensor::scalar(1_i32), Tensor::scalar(0_i32)]).unwrap();
        assert_eq!((one.shape(), one.values::<i32>().unwrap()), (&Shape::new(&[2]), &[10, 11][..]));
    }

    #[test]
    fn slices_are_taken_along_any_axis() {
        let indices = Tensor::from_values(Shape::new(&[1, 3]), vec![1_i32, 1, 0]).unwrap();
        let taken = run_one(&Gather, &[rows(), indices.clone(), Tensor::scalar(-1_i32)]).unwrap();
        assert_eq!(taken.shape(), &Shape::new(&[3, 1, 3]));
        assert_eq!(taken.values::<i32>().unwrap(), [1, 1, 0, 11, 11, 10, 21, 21, 20]);
        let text = error_text(&Gather, &[rows(), indices.clone(), Tensor::scalar(2_i32)]);
        assert_eq!(text, "InvalidArgument: Expected axis in the range [-2, 2), but got 2");
        let text = error_text(&Gather, &[Tensor::scalar(1), indices, Tensor::scalar(0_i32)]);
        assert_eq!(text, "InvalidArgument: params must be at least 1 dimensional");
    }

    #[test]
    fn slices_are_selected_by_a_mask() {
        let masked = |axis, mask: Tensor| {
            run_one(&BooleanMask::from_attrs(&attrs([("axis", Attr::Int(axis))])).unwrap(), &[rows(), mask])
        };
        let bools = Tensor::from_bytes(DType::Bool, Shape::new(&[3]), vec![1, 0, 1].into()).unwrap();
        let picked = masked(0, bools).unwrap();
        assert_eq!(picked, Tensor::from_values(Shape::new(&[2, 2]), vec![0_i32, 1, 20, 21]).unwrap());
        let numbers = Tensor::from_values(Shape::new(&[2]), vec![-0.0_f32, f32::NAN]).unwrap();
        let picked = masked(1, numbers).unwrap();
        assert_eq!(picked, Tensor::from_values(Shape::new(&[3, 1]), vec![1_i32, 11, 21]).unwrap());
        let all = Tensor::from_values(Shape::new(&[3, 2]), vec![0_u8, 1, 0, 0, 1, 0]).unwrap();
        assert_eq!(masked(0, all).unwrap(), Tensor::from_values(Shape::new(&[2]), vec![1_i32, 20]).unwrap());
        let long = Tensor::from_values(Shape::new(&[4]), vec![0_i64, 0, 0, 1]).unwrap();
        assert_eq!(masked(0, long).unwrap_err().message(), "indices[0] = 3 is not in [0, 3)");
    }

    #[test]
    fn error_names_an_index_out_of_range_and_its_position() {
        let indices = Tensor::from_values(Shape::new(&[2, 2]), vec![0_i32, 1, 3, 0]).unwrap();
        let text = error_text(&Gather, &[rows(), indices, Tensor::scalar(0_i32)]);
        assert_eq!(text, "InvalidArgument: indices[1,0] = 3 is not in [0, 3)");
        let text = error_text(&Gather, &[rows(), Tensor::scalar(-1_i64), Tensor::scalar(0_i32)]);
        assert_eq!(text, "InvalidArgument: indices = -1 is not in [0, 3)");
    }
}
