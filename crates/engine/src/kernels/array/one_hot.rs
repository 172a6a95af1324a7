//! `OneHot`: sets one value at an index along a new axis and another value elsewhere.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Maps `(indices, depth, on, off)` to a tensor with `on` at each index and `off` elsewhere. An
/// index outside the depth is ignored.
///
/// Source: `tf.one_hot` in TensorFlow 1.15.
pub struct OneHot {
    /// The position of the new axis, or -1 for the last one.
    axis: i64,
}

impl OneHot {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { axis: attrs.int("axis")? })
    }

    /// Returns the position of the new axis. Fails if a tensor of `rank` axes cannot have it there.
    fn position(&self, rank: usize) -> Result<usize> {
        let position = if self.axis == -1 { Some(rank) } else { usize::try_from(self.axis).ok() };
        position.filter(|position| *position <= rank).ok_or_else(|| {
            let limit = rank + 1;
            let text = format!("Expected axis to be -1 or between [0, {limit}).  But received: {}", self.axis);
            Error::invalid_argument(text)
        })
    }
}

impl Kernel for OneHot {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, depth, on, off] = expect_inputs(&inputs)?;
        let (before, after) = indices.shape().split_at(self.position(indices.shape().len())?);
        for (value, what) in [(depth, "depth"), (on, "on_value"), (off, "off_value")] {
            if !value.shape().is_empty() {
                let text = format!("{what} must be a scalar, but got: {}", value.shape());
                return Err(Error::invalid_argument(text));
            }
        }
        let depth = depth.integer_scalar("depth")?;
        let depth = usize::try_from(depth)
            .map_err(|_| Error::invalid_argument(format!("depth must be non-negative, got: {depth}")))?;
        let grid = Grid { depth, length: after.iter().product() };
        let shape: Shape = before.iter().chain(&[depth]).chain(after).copied().collect();
        match indices.dtype() {
            DType::UInt8 => filled(grid.positions(indices.values::<u8>()?), on, off, shape),
            DType::Int32 => filled(grid.positions(indices.values::<i32>()?), on, off, shape),
            _ => filled(grid.positions(indices.values::<i64>()?), on, off, shape),
        }
        .map(Step::one)
    }
}

/// The layout of the elements: the new axis of size `depth` is followed by `length` elements each.
struct Grid {
    depth: usize,
    length: usize,
}

impl Grid {
    /// Returns the positions of the indices that are within the depth.
    fn positions<T: Copy + TryInto<usize>>(self, indices: &[T]) -> impl Iterator<Item = usize> {
        let Self { depth, length } = self;
        indices.iter().enumerate().filter_map(move |(number, index)| {
            let index = (*index).try_into().ok().filter(|index| *index < depth)?;
            Some((number / length * depth + index) * length + number % length)
        })
    }
}

/// Creates a tensor with `on` at some positions and `off` elsewhere.
fn filled(positions: impl Iterator<Item = usize>, on: &Tensor, off: &Tensor, shape: Shape) -> Result<Tensor> {
    let (dtype, elements) = (on.dtype(), allocate::elements(on.dtype(), &shape));
    if dtype == DType::String {
        let (on, mut strings) =
            (on.string_scalar("on_value")?, elements.copies(off.string_scalar("off_value")?.clone())?);
        positions.for_each(|position| strings[position] = on.clone());
        return Tensor::strings(shape.clone(), strings);
    }
    let (on, mut bytes) = (on.stored()?, elements.filled(off.stored()?)?);
    positions.for_each(|position| bytes[position * on.len()..(position + 1) * on.len()].copy_from_slice(on));
    Tensor::from_bytes(dtype, shape, bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run, run_one};

    fn along(axis: i64) -> OneHot {
        OneHot::from_attrs(&attrs([("axis", Attr::Int(axis))])).unwrap()
    }

    fn inputs(indices: Tensor, depth: i32) -> [Tensor; 4] {
        [indices, Tensor::scalar(depth), Tensor::scalar(5_i16), Tensor::scalar(-1_i16)]
    }

    #[test]
    fn on_value_is_at_the_index_and_off_value_elsewhere() {
        let indices = |values: [i64; 4]| Tensor::from_values(Shape::new(&[2, 2]), values.to_vec()).unwrap();
        let hot = run_one(&along(-1), &inputs(indices([0, 1, -1, 2]), 2)).unwrap();
        assert_eq!(hot, Tensor::from_values(Shape::new(&[2, 2, 2]), vec![5_i16, -1, -1, 5, -1, -1, -1, -1]).unwrap());
        let hot = run_one(&along(1), &inputs(indices([0, 1, 1, i64::MAX]), 2)).unwrap();
        assert_eq!(hot, Tensor::from_values(Shape::new(&[2, 2, 2]), vec![5_i16, -1, -1, 5, -1, -1, 5, -1]).unwrap());
        let hot = run_one(&along(0), &inputs(Tensor::scalar(1_u8), 3)).unwrap();
        assert_eq!(hot.values::<i16>().unwrap(), [-1, 5, -1]);
        let words = [Tensor::scalar(1), Tensor::scalar(2), Tensor::string("yes"), Tensor::string("no")];
        assert_eq!(run_one(&along(-1), &words).unwrap().string_values(), ["no", "yes"]);
    }

    #[test]
    fn empty_indices_and_depth_0_are_accepted() {
        let nothing = Tensor::empty(DType::Int32, Shape::new(&[2, 0])).unwrap();
        assert_eq!(run_one(&along(0), &inputs(nothing, 3)).unwrap().shape()[..], [3, 2, 0]);
        assert_eq!(run_one(&along(-1), &inputs(Tensor::scalar(0), 0)).unwrap().shape()[..], [0]);
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        let text = error_text(&along(1), &inputs(Tensor::scalar(0), 2));
        assert_eq!(text, "InvalidArgument: Expected axis to be -1 or between [0, 1).  But received: 1");
        let text = error_text(&along(-1), &inputs(Tensor::scalar(0), -2));
        assert_eq!(text, "InvalidArgument: depth must be non-negative, got: -2");
        for (position, what) in [(1, "depth"), (2, "on_value"), (3, "off_value")] {
            let mut arguments = inputs(Tensor::scalar(0), 2);
            arguments[position] = arguments[position].clone().reshaped(Shape::new(&[1])).unwrap();
            let text = error_text(&along(-1), &arguments);
            assert_eq!(text, format!("InvalidArgument: {what} must be a scalar, but got: [1]"));
        }
    }

    #[test]
    fn sizes_beyond_the_memory_limit_are_rejected() {
        let indices = Tensor::from_values(Shape::new(&[1 << 20]), vec![0_i32; 1 << 20]).unwrap();
        let error = run(&along(-1), &inputs(indices, i32::MAX)).unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted);
    }
}
