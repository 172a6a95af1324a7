//! `ReverseV2` and `Roll`: reverse or rotate the order of elements along axes.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::view::{Dim, View, steps_of};
use smallvec::SmallVec;

/// Maps `(tensor, axes)` to the tensor with the order along these axes reversed.
///
/// Source: `tf.reverse` in TensorFlow 1.15.
pub struct Reverse;

impl Kernel for Reverse {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, axes] = expect_inputs(&inputs)?;
        let shape = tensor.shape();
        let is_reversed = checked(axes, shape.len())?;
        let mut start = 0;
        let axes = shape.iter().zip(steps_of(shape)).zip(is_reversed);
        let dims: SmallVec<[Dim; 4]> = axes
            .map(|((length, step), is_reversed)| {
                if !is_reversed {
                    return Dim { length: *length, step };
                }
                start += length.saturating_sub(1) as isize * step;
                Dim { length: *length, step: -step }
            })
            .collect();
        View::new(start, dims).of(tensor, shape.clone()).map(Step::one)
    }
}

/// Returns for each of `rank` axes whether it is one of `axes`, which may count from the end.
fn checked(axes: &Tensor, rank: usize) -> Result<SmallVec<[bool; 4]>> {
    if axes.shape().len() != 1 {
        let text = format!("'dims' must be 1-dimension, not {}", axes.shape().len());
        return Err(Error::invalid_argument(text));
    }
    #[expect(clippy::disallowed_methods, reason = "one for each axis")]
    let mut is_named: SmallVec<[bool; 4]> = SmallVec::from_elem(false, rank);
    for (position, axis) in axes.integers()?.iter().enumerate() {
        let front = if *axis < 0 { *axis + rank as i64 } else { *axis };
        let named = usize::try_from(front).ok().and_then(|front| is_named.get_mut(front)).ok_or_else(|| {
            let text = format!("'axis'[{position}] = {axis} is out of valid range [0, {}", rank as i64 - 1);
            Error::invalid_argument(text)
        })?;
        if std::mem::replace(named, true) {
            return Err(Error::invalid_argument(format!("axis {front} specified more than once.")));
        }
    }
    Ok(is_named)
}

/// Maps `(tensor, shifts, axes)` to the tensor rotated along these axes. Elements that leave at one
/// end enter at the other.
///
/// Source: `tf.roll` in TensorFlow 1.15.
pub struct Roll;

impl Kernel for Roll {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let [tensor, shifts, axes] = expect_inputs(&inputs)?;
        let rank = tensor.shape().len() as i64;
        if rank == 0 {
            return Err(Error::invalid_argument("input must be 1-D or higher"));
        }
        if shifts.shape() != axes.shape() {
            return Err(Error::invalid_argument("shift and axis must have the same size"));
        }
        let (shifts, axes) = (shifts.integers()?, axes.integers()?);
        if let Some(axis) = axes.iter().find(|axis| !(-rank..rank).contains(*axis)) {
            return Err(Error::invalid_argument(format!("axis {axis} is out of range")));
        }
        let mut rolled = inputs.swap_remove(0);
        for (shift, axis) in shifts.into_iter().zip(axes) {
            let axis = axis.rem_euclid(rank) as usize;
            let size = rolled.shape()[axis];
            let shift = if size == 0 { 0 } else { shift.rem_euclid(size as i64) as usize };
            if shift > 0 {
                let order = allocate::collected(size, (size - shift..size).chain(0..size - shift));
                rolled = rolled.take_along(axis, &order.map_err(|refusal| refusal.at("the places of elements"))?)?;
            }
        }
        Ok(Step::one(rolled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::shape::Shape;

    fn vector(values: &[i32]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    #[test]
    fn each_requested_axis_is_reversed() {
        let matrix = |values: [f64; 6]| Tensor::from_values(Shape::new(&[2, 3]), values.to_vec()).unwrap();
        let reverse =
            |axes: &[i32]| run_one(&Reverse, &[matrix([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), vector(axes)]).unwrap();
        assert_eq!(reverse(&[]), matrix([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(reverse(&[0]), matrix([3.0, 4.0, 5.0, 0.0, 1.0, 2.0]));
        assert_eq!(reverse(&[-1]), matrix([2.0, 1.0, 0.0, 5.0, 4.0, 3.0]));
        assert_eq!(reverse(&[1, 0]), matrix([5.0, 4.0, 3.0, 2.0, 1.0, 0.0]));
        let words = Tensor::strings(Shape::new(&[2]), vec!["a".into(), "b".into()]).unwrap();
        assert_eq!(run_one(&Reverse, &[words, vector(&[0])]).unwrap().string_values(), ["b", "a"]);
        assert_eq!(run_one(&Reverse, &[vector(&[]), vector(&[0])]).unwrap(), vector(&[]));
    }

    #[test]
    fn invalid_axes_are_rejected() {
        let text = |axes: Tensor| error_text(&Reverse, &[vector(&[1]), axes]);
        assert_eq!(text(Tensor::scalar(0)), "InvalidArgument: 'dims' must be 1-dimension, not 0");
        assert_eq!(text(vector(&[4])), "InvalidArgument: 'axis'[0] = 4 is out of valid range [0, 0");
        assert_eq!(text(vector(&[0, -2])), "InvalidArgument: 'axis'[1] = -2 is out of valid range [0, 0");
        assert_eq!(text(vector(&[0, -1])), "InvalidArgument: axis 0 specified more than once.");
    }

    #[test]
    fn roll_moves_elements_past_the_end_to_the_start() {
        let matrix = |values: [i32; 6]| vector(&values).reshaped(Shape::new(&[2, 3])).unwrap();
        let roll = |shifts: &[i32], axes: &[i32]| {
            run_one(&Roll, &[matrix([0, 1, 2, 3, 4, 5]), vector(shifts), vector(axes)]).unwrap()
        };
        assert_eq!(roll(&[1], &[1]), matrix([2, 0, 1, 5, 3, 4]));
        assert_eq!(roll(&[-7, 1], &[-1, 0]), matrix([4, 5, 3, 1, 2, 0]));
        assert_eq!(roll(&[1, 2], &[1, 1]), matrix([0, 1, 2, 3, 4, 5]));
        let text = |inputs: [Tensor; 3]| error_text(&Roll, &inputs);
        let scalars = || [Tensor::scalar(1), Tensor::scalar(1), Tensor::scalar(0)];
        assert_eq!(text(scalars()), "InvalidArgument: input must be 1-D or higher");
        let expected = "InvalidArgument: shift and axis must have the same size";
        assert_eq!(text([vector(&[1]), vector(&[1]), Tensor::scalar(0)]), expected);
        let text = text([vector(&[1]), Tensor::scalar(1), Tensor::scalar(1)]);
        assert_eq!(text, "InvalidArgument: axis 1 is out of range");
    }
}
