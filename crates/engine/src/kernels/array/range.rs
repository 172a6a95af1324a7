//! `Range`: creates evenly spaced numbers.

use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::kernels::math::element::Arithmetic;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::Numeric;
use crate::tensor::shape::Shape;
use half::f16;
use std::fmt::Display;

/// Maps `(start, limit, delta)` to the numbers from `start` up to but excluding `limit`, in steps
/// of `delta`.
///
/// Source: `tf.range` in TensorFlow 1.15.
pub struct Range;

/// Numbers that a range can consist of.
trait Progress: Arithmetic + Display {
    /// The number of elements, or `None` if there are too many to count.
    fn length(start: Self, limit: Self, delta: Self) -> Option<usize>;

    /// Converts the index to a number of this type. Integers wrap.
    fn of_index(index: usize) -> Self;
}

macro_rules! progress_of_integers {
    ($($T:ty),*) => {
        $(impl Progress for $T {
            fn length(start: Self, limit: Self, delta: Self) -> Option<usize> {
                let (distance, delta) = (i128::from(limit) - i128::from(start), i128::from(delta));
                // Round up. Both numbers have the same sign.
                usize::try_from(distance.unsigned_abs().div_ceil(delta.unsigned_abs())).ok()
            }

            fn of_index(index: usize) -> Self {
                index as $T
            }
        })*
    };
}

progress_of_integers!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! progress_of_floats {
    ($($T:ty: $of_index:expr;)*) => {
        $(impl Progress for $T {
            fn length(start: Self, limit: Self, delta: Self) -> Option<usize> {
                let length = ((f64::from(limit) - f64::from(start)) / f64::from(delta)).ceil();
                (length <= i64::MAX as f64).then_some(length as usize)
            }

            fn of_index(index: usize) -> Self {
                $of_index(index)
            }
        })*
    };
}

progress_of_floats! {
    f16: |index| f16::from_f32(index as f32);
    f32: |index| index as f32;
    f64: |index| index as f64;
}

impl Kernel for Range {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [start, limit, delta] = expect_inputs(&inputs)?;
        let unsupported = || Error::unimplemented(format!("a range of {} is not supported", start.dtype()));
        let numbers = dispatch_numeric!(
            start.dtype(),
            T => range(scalar::<T>(start, "start")?, scalar(limit, "limit")?, scalar(delta, "delta")?),
            else => Err(unsupported())
        );
        numbers.map(Step::one)
    }
}

fn scalar<T: Numeric>(tensor: &Tensor, what: &str) -> Result<T> {
    match (tensor.shape().is_empty(), tensor.values()?) {
        (true, [value]) => Ok(*value),
        _ => Err(Error::invalid_argument(format!("{what} must be a scalar, not shape {}", tensor.shape()))),
    }
}

fn range<T: Progress>(start: T, limit: T, delta: T) -> Result<Tensor> {
    let refused = |text: String| Err(Error::invalid_argument(text));
    if delta == T::zeroed() {
        return refused(format!("Requires delta != 0: {delta}"));
    }
    if delta > T::zeroed() && start > limit {
        return refused(format!("Requires start <= limit when delta > 0: {start}/{limit}"));
    }
    if delta < T::zeroed() && start < limit {
        return refused(format!("Requires start >= limit when delta < 0: {start}/{limit}"));
    }
    let Some(length) = T::length(start, limit, delta) else {
        return refused(format!("Requires ((limit - start) / delta) <= {}, got more", i64::MAX));
    };
    let shape = Shape::new(&[length]);
    let numbers = (0..length).map(|index| T::of_index(index).mul(delta).add(start));
    let numbers = allocate::elements(T::DTYPE, &shape).collect(numbers)?;
    Tensor::from_values(shape, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::kernels::testing::{error_text, run, run_one};

    fn range_inputs<T: Numeric>(start: T, limit: T, delta: T) -> [Tensor; 3] {
        [start, limit, delta].map(Tensor::scalar)
    }

    #[test]
    fn range_counts_from_the_start_to_the_limit() {
        let integers = |start: i8, limit, delta| {
            run_one(&Range, &range_inputs(start, limit, delta)).unwrap().values::<i8>().unwrap().to_vec()
        };
        assert_eq!(integers(1, 8, 3), [1, 4, 7]);
        assert_eq!(integers(3, 0, -2), [3, 1]);
        assert_eq!(integers(3, 3, 1), [0; 0]);
        assert_eq!(integers(-128, 127, 127), [-128, -1, 126]);
        let halves = run_one(&Range, &range_inputs(0.0_f32, 1.1, 0.5)).unwrap();
        assert_eq!(halves.values::<f32>().unwrap(), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn invalid_ranges_are_rejected() {
        assert_eq!(error_text(&Range, &range_inputs(0, 1, 0)), "InvalidArgument: Requires delta != 0: 0");
        let text = error_text(&Range, &range_inputs(2, 1, 1));
        assert_eq!(text, "InvalidArgument: Requires start <= limit when delta > 0: 2/1");
        let text = error_text(&Range, &range_inputs(1, 2, -1));
        assert_eq!(text, "InvalidArgument: Requires start >= limit when delta < 0: 1/2");
        let text = error_text(&Range, &range_inputs(0.0, f64::INFINITY, 1.0));
        assert!(
            text.starts_with("InvalidArgument: Requires ((limit - start) / delta) <= 9223372036854775807"),
            "{text}"
        );
        let mut vector = range_inputs(0, 1, 1);
        vector[1] = vector[1].clone().reshaped(Shape::new(&[1])).unwrap();
        assert_eq!(error_text(&Range, &vector), "InvalidArgument: limit must be a scalar, not shape [1]");
        assert_eq!(run(&Range, &range_inputs(0, 1_i64 << 50, 1)).unwrap_err().code(), Code::ResourceExhausted);
    }
}
