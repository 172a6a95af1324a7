//! `StridedSlice` and `Slice`: return part of a tensor.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::shape::Shape;
use crate::tensor::view::{Dim, View, steps_of};
use smallvec::SmallVec;

/// Maps `(tensor, begin, end, strides)` to `tensor[begin:end:strides, ...]` in Python's syntax.
///
/// Source: `tf.strided_slice` in TensorFlow 1.15.
pub struct StridedSlice {
    begin_mask: i64,
    end_mask: i64,
    ellipsis_mask: i64,
    new_axis_mask: i64,
    shrink_axis_mask: i64,
}

/// Maps `(tensor, begin, size)` to the window of that size at `begin`. A size of -1 means the rest
/// of the axis.
pub struct Slice;

impl StridedSlice {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self {
            begin_mask: attrs.int("begin_mask")?,
            end_mask: attrs.int("end_mask")?,
            ellipsis_mask: attrs.int("ellipsis_mask")?,
            new_axis_mask: attrs.int("new_axis_mask")?,
            shrink_axis_mask: attrs.int("shrink_axis_mask")?,
        })
    }

    /// Returns the view for these indices and its shape.
    fn view(&self, shape: &Shape, [begin, end, strides]: [&[i64]; 3]) -> Result<(View, Shape)> {
        let (steps, rank) = (steps_of(shape), shape.len());
        let has = |mask: i64, position: usize| mask >> position.min(63) & 1 == 1;
        let num_ellipses = (0..begin.len()).filter(|position| has(self.ellipsis_mask, *position)).count();
        if num_ellipses > 1 {
            return Err(Error::invalid_argument("Multiple ellipses in slice spec not allowed"));
        }
        let is_new = |position: &usize| has(self.new_axis_mask, *position) && !has(self.ellipsis_mask, *position);
        let num_used = begin.len() - (0..begin.len()).filter(is_new).count() - num_ellipses;
        if num_used > rank {
            let text = format!("Index out of range using input dim {rank}; input has only {rank} dims");
            return Err(Error::invalid_argument(text));
        }
        let mut picked = Picked::default();
        let mut axis = 0;
        for position in 0..begin.len() {
            if has(self.ellipsis_mask, position) {
                let rest = axis + rank - num_used;
                (axis..rest).for_each(|axis| picked.keep(shape[axis], steps[axis]));
                axis = rest;
            } else if has(self.new_axis_mask, position) {
                picked.shape.push(1);
            } else {
                let (size, step) = (shape[axis] as i64, steps[axis]);
                if has(self.shrink_axis_mask, position) {
                    picked.start += index(begin[position], size, axis)? as isize * step;
                } else {
                    let from = (!has(self.begin_mask, position)).then_some(begin[position]);
                    let to = (!has(self.end_mask, position)).then_some(end[position]);
                    let (first, length, stride) = python_slice(from, to, strides[position], size, position)?;
                    picked.start += first as isize * step;
                    picked.keep(length, step * stride as isize);
                }
                axis += 1;
            }
        }
        (axis..rank).for_each(|axis| picked.keep(shape[axis], steps[axis]));
        Ok((View::new(picked.start, picked.dims), Shape::new(&picked.shape)))
    }
}

#[derive(Default)]
struct Picked {
    start: isize,
    dims: SmallVec<[Dim; 4]>,
    shape: SmallVec<[usize; 4]>,
}

impl Picked {
    fn keep(&mut self, length: usize, step: isize) {
        self.dims.push(Dim { length, step });
        self.shape.push(length);
    }
}

/// Returns the position of a single element. Negative numbers count from the end.
fn index(index: i64, size: i64, axis: usize) -> Result<i64> {
    let position = if index < 0 { index + size } else { index };
    match (0..size).contains(&position) {
        true => Ok(position),
        false => Err(Error::invalid_argument(format!("slice index {position} of dimension {axis} out of bounds."))),
    }
}

/// Returns the first element, the number of elements and the stride of `[begin:end:stride]`, with
/// Python's rules for indices out of range.
fn python_slice(
    begin: Option<i64>,
    end: Option<i64>,
    stride: i64,
    size: i64,
    position: usize,
) -> Result<(i64, usize, i64)> {
    if stride == 0 {
        return Err(Error::invalid_argument(format!("strides[{position}] must be non-zero")));
    }
    let (lowest, highest) = if stride > 0 { (0, size) } else { (-1, size - 1) };
    let clamp = |bound: i64| (if bound < 0 { bound.saturating_add(size) } else { bound }).clamp(lowest, highest);
    let (first, last) = if stride > 0 { (lowest, highest) } else { (highest, lowest) };
    let (first, last) = (begin.map_or(first, clamp), end.map_or(last, clamp));
    let distance = if stride > 0 { last - first } else { first - last };
    let length = if distance > 0 { (distance as u64).div_ceil(stride.unsigned_abs()) as usize } else { 0 };
    Ok((first, length, stride))
}

impl Kernel for StridedSlice {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, begin, end, strides] = expect_inputs(&inputs)?;
        let (begin, end, strides) = (begin.integers()?, end.integers()?, strides.integers()?);
        if begin.len() != end.len() || begin.len() != strides.len() {
            return Err(Error::invalid_argument(format!(
                "Expected begin, end, and strides to be 1D equal size tensors, but got sizes {}, {} and {} instead.",
                begin.len(),
                end.len(),
                strides.len()
            )));
        }
        let (view, shape) = self.view(tensor.shape(), [&begin, &end, &strides])?;
        view.of(tensor, shape).map(Step::one)
    }
}

impl Kernel for Slice {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, begin, size] = expect_inputs(&inputs)?;
        let (begin, size, shape) = (begin.integers()?, size.integers()?, tensor.shape());
        if begin.len() != shape.len() || size.len() != shape.len() {
            return Err(Error::invalid_argument(format!(
                "Expected begin and size arguments to be 1-D tensors of size {}, but got shapes [{}] and [{}] instead.",
                shape.len(),
                begin.len(),
                size.len()
            )));
        }
        let steps = steps_of(shape);
        let mut picked = Picked::default();
        for (axis, available) in shape.iter().enumerate() {
            let (first, length) = (begin[axis], size[axis]);
            let left = usize::try_from(first).ok().and_then(|first| available.checked_sub(first)).ok_or_else(|| {
                Error::invalid_argument(format!("Expected begin[{axis}] in [0, {available}], but got {first}"))
            })?;
            let taken = if length == -1 { Some(left) } else { usize::try_from(length).ok() };
            let taken = taken.filter(|taken| *taken <= left).ok_or_else(|| {
                Error::invalid_argument(format!("Expected size[{axis}] in [0, {left}], but got {length}"))
            })?;
            picked.start += first as isize * steps[axis];
            picked.keep(taken, steps[axis]);
        }
        View::new(picked.start, picked.dims).of(tensor, Shape::new(&picked.shape)).map(Step::one)
    }
}
