//! `Cumsum` and `Cumprod`: compute running sums and products along an axis.

use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::accumulate::Accumulate;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;

/// Maps `(x, axis)` to the running sum or product along the axis, in the precision of the dtype.
///
/// Source: `tf.cumsum` and `tf.cumprod` in TensorFlow 1.15.
pub struct Scan {
    is_product: bool,
    /// True if an element is not included in its own sum or product.
    is_exclusive: bool,
    /// True to start at the end.
    is_reverse: bool,
}

impl Scan {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(is_product: bool, attrs: &Attrs) -> Result<Self> {
        Ok(Self { is_product, is_exclusive: attrs.bool("exclusive")?, is_reverse: attrs.bool("reverse")? })
    }

    fn scan<T: Accumulate>(&self, x: &Tensor, axis: usize) -> Result<Tensor> {
        let (first, combine): (_, fn(T, T) -> T) =
            if self.is_product { (T::narrow(T::ONE), T::mul) } else { (T::narrow(T::ZERO), T::add) };
        let (values, shape) = (x.values::<T>()?, x.shape());
        let (size, length): (_, usize) = (shape[axis], shape[axis + 1..].iter().product());
        let mut scanned = allocate::elements(T::DTYPE, shape).zeros::<T>()?;
        let row_starts = (0..shape[..axis].iter().product()).map(|block: usize| block * size * length);
        for start in row_starts.flat_map(|start| start..start + length) {
            let mut whole = None;
            for step in 0..size {
                let position = start + length * if self.is_reverse { size - 1 - step } else { step };
                // Nothing is added to the first number, which may be -0.
                let next = whole.map_or(values[position], |whole| combine(whole, values[position]));
                scanned[position] = if self.is_exclusive { whole.unwrap_or(first) } else { next };
                whole = Some(next);
            }
        }
        Tensor::from_values(shape.clone(), scanned)
    }
}

impl Kernel for Scan {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x, axis] = expect_inputs(&inputs)?;
        if !axis.shape().is_empty() {
            return Err(Error::invalid_argument(format!("ScanOp: axis must be a scalar, not {}", axis.shape())));
        }
        let (axis, rank) = (axis.integer_scalar("axis")?, x.shape().len() as i64);
        let axis = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&axis) {
            let text = format!("ScanOp: Expected scan axis in the range [{}, {rank}), but got {axis}", -rank);
            return Err(Error::invalid_argument(text));
        }
        let unsupported = || Error::unimplemented(format!("a cumulative sum of {} is not supported", x.dtype()));
        let scanned = dispatch_numeric!(x.dtype(), T => self.scan::<T>(x, axis as usize), else => Err(unsupported()));
        scanned.map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::shape::Shape;

    fn scan(is_product: bool, is_exclusive: bool, is_reverse: bool) -> Scan {
        let attributes = attrs([("exclusive", Attr::Bool(is_exclusive)), ("reverse", Attr::Bool(is_reverse))]);
        Scan::from_attrs(is_product, &attributes).unwrap()
    }

    fn matrix(values: [f32; 6]) -> Tensor {
        Tensor::from_values(Shape::new(&[2, 3]), values.to_vec()).unwrap()
    }

    #[test]
    fn elements_are_cumulative_sums_or_products() {
        let x = || matrix([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let one = |scan: Scan, axis: i32| run_one(&scan, &[x(), Tensor::scalar(axis)]).unwrap();
        assert_eq!(one(scan(false, false, false), 0), matrix([1.0, 2.0, 3.0, 5.0, 7.0, 9.0]));
        assert_eq!(one(scan(false, false, false), -1), matrix([1.0, 3.0, 6.0, 4.0, 9.0, 15.0]));
        assert_eq!(one(scan(false, true, false), 1), matrix([0.0, 1.0, 3.0, 0.0, 4.0, 9.0]));
        assert_eq!(one(scan(true, false, true), 1), matrix([6.0, 6.0, 3.0, 120.0, 30.0, 6.0]));
        assert_eq!(one(scan(true, true, true), 1), matrix([6.0, 3.0, 1.0, 30.0, 6.0, 1.0]));
        let zero = Tensor::from_values(Shape::new(&[1]), vec![-0.0_f64]).unwrap();
        assert_eq!(run_one(&scan(false, false, false), &[zero.clone(), Tensor::scalar(0)]).unwrap(), zero);
    }

    #[test]
    fn invalid_axes_are_rejected() {
        let text = |axis: Tensor| error_text(&scan(false, false, false), &[matrix([0.0; 6]), axis]);
        let expected = "InvalidArgument: ScanOp: Expected scan axis in the range [-2, 2), but got";
        assert_eq!(text(Tensor::scalar(2)), format!("{expected} 2"));
        assert_eq!(text(Tensor::scalar(-3)), format!("{expected} -1"));
        let axes = Tensor::from_values(Shape::new(&[1]), vec![0]).unwrap();
        assert_eq!(text(axes), "InvalidArgument: ScanOp: axis must be a scalar, not [1]");
    }
}
