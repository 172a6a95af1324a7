//! `Reshape`, `ExpandDims` and `Squeeze`: change the shape of a tensor without copying its
//! elements.

use crate::error::{Error, Result};
use crate::kernel::rewrite::{InPlace, Rewritable, run_in_place};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::{Attr, Attrs};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::shape::{PartialShape, Shape};
use smallvec::SmallVec;
use std::sync::Arc;

/// Maps `(tensor, shape)` to the elements of `tensor` in the shape `shape`. One size may be -1,
/// which is then computed.
pub struct Reshape;

/// Maps `(tensor, axis)` to the same elements with a new axis of size 1.
pub struct ExpandDims;

/// Removes some axes of size 1, or all of them.
pub struct Squeeze {
    axes: Vec<i64>,
}

/// [`Reshape`] to sizes that are the same in every run.
struct ReshapeTo {
    sizes: SmallVec<[i64; 4]>,
    plain: Option<PlainSizes>,
}

/// Sizes that contain no 0 and at most one -1.
struct PlainSizes {
    /// The sizes, with 1 in place of the -1.
    dims: Shape,
    num_elements: usize,
    open: Option<usize>,
}

impl PlainSizes {
    fn new(sizes: &[i64]) -> Option<Self> {
        let mut open = None;
        let mut dims = SmallVec::<[usize; 4]>::new();
        for (index, size) in sizes.iter().enumerate() {
            let is_open = *size == -1 && open.replace(index).is_none();
            dims.push(if is_open { 1 } else { usize::try_from(*size).ok()? });
        }
        let num_elements = product(&dims).ok().filter(|product| *product > 0)?;
        Some(Self { dims: Shape::new(&dims), num_elements, open })
    }

    /// Returns the shape for this many elements, or `None` if the sizes don't match or there are no
    /// elements.
    fn of(&self, num_elements: usize) -> Option<Shape> {
        match self.open {
            Some(axis) if num_elements > 0 && num_elements.is_multiple_of(self.num_elements) => {
                Some(self.dims.with_size(axis, num_elements / self.num_elements))
            }
            None if num_elements == self.num_elements => Some(self.dims.clone()),
            _ => None,
        }
    }
}

impl Kernel for Reshape {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let [tensor, sizes] = expect_inputs(&inputs)?;
        let shape = requested_shape(tensor, &sizes_of(sizes)?)?;
        inputs.swap_remove(0).reshaped(shape).map(Step::one)
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for Reshape {
    fn with_constants(&self, inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
        let [None, Some(sizes)] = inputs else { return None };
        let sizes = sizes_of(sizes).ok()?;
        let plain = PlainSizes::new(&sizes);
        Some(Arc::new(ReshapeTo { sizes, plain }))
    }
}

impl Kernel for ReshapeTo {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        run_in_place(self, inputs)
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for ReshapeTo {
    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        Some(self)
    }
}

impl InPlace for ReshapeTo {
    fn change(&self, tensor: &mut Tensor) -> Result<()> {
        let shape = match self.plain.as_ref().and_then(|plain| plain.of(tensor.num_elements())) {
            Some(shape) => shape,
            None => requested_shape(tensor, &self.sizes)?,
        };
        tensor.set_shape(shape)
    }
}

impl Squeeze {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let axis = |attr: &Attr| match attr {
            Attr::Int(axis) => Some(*axis),
            _ => None,
        };
        Ok(Self { axes: attrs.list("squeeze_dims", axis)? })
    }

    fn shape(&self, shape: &Shape) -> Result<Shape> {
        let rank = shape.len() as i64;
        #[expect(clippy::disallowed_methods, reason = "one for each axis")]
        let mut is_removed = vec![false; shape.len()];
        for axis in &self.axes {
            let position = if *axis < 0 { axis + rank } else { *axis };
            let size = usize::try_from(position).ok().and_then(|position| shape.get(position));
            let size = size.ok_or_else(|| {
                let text = format!("Tried to squeeze dim index {axis} for tensor with {rank} dimensions.");
                Error::invalid_argument(text)
            })?;
            if *size != 1 {
                let text = format!("Can not squeeze dim[{position}], expected a dimension of 1, got {size}");
                return Err(Error::invalid_argument(text));
            }
            is_removed[position as usize] = true;
        }
        let is_kept = |axis: usize, size: usize| if self.axes.is_empty() { size != 1 } else { !is_removed[axis] };
        Ok(shape.iter().enumerate().filter(|(axis, size)| is_kept(*axis, **size)).map(|(_, size)| *size).collect())
    }
}

impl Kernel for ExpandDims {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let [tensor, axis] = expect_inputs(&inputs)?;
        if axis.num_elements() != 1 {
            return Err(Error::invalid_argument("'dim' must be a tensor with a single value"));
        }
        let (rank, axis) = (tensor.shape().len(), axis.integer_scalar("dim")?);
        let position = if axis < 0 { axis + rank as i64 + 1 } else { axis };
        let position = usize::try_from(position).ok().filter(|position| *position <= rank).ok_or_else(|| {
            Error::invalid_argument(format!("Tried to expand dim index {axis} for tensor with {rank} dimensions."))
        })?;
        let (before, after) = tensor.shape().split_at(position);
        let shape = before.iter().chain(&[1]).chain(after).copied().collect();
        inputs.swap_remove(0).reshaped(shape).map(Step::one)
    }
}

impl Kernel for Squeeze {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let [tensor] = expect_inputs(&inputs)?;
        let shape = self.shape(tensor.shape())?;
        inputs.swap_remove(0).reshaped(shape).map(Step::one)
    }
}

fn sizes_of(sizes: &Tensor) -> Result<SmallVec<[i64; 4]>> {
    if sizes.shape().len() != 1 {
        return Err(Error::invalid_argument(format!("sizes input must be 1-D, not {}", sizes.shape())));
    }
    sizes.integers()
}

/// Returns the requested shape after checking it against the number of elements of `tensor`.
fn requested_shape(tensor: &Tensor, sizes: &[i64]) -> Result<Shape> {
    let num_elements = tensor.num_elements();
    let mut dims: SmallVec<[usize; 4]> = SmallVec::new();
    let mut unknown = None;
    for (index, size) in sizes.iter().enumerate() {
        match (usize::try_from(*size), unknown) {
            (Ok(size), _) => dims.push(size),
            (Err(_), None) if *size == -1 => {
                unknown = Some(index);
                dims.push(1);
            }
            (Err(_), Some(first)) if *size == -1 => {
                let text = format!("Only one input size may be -1, not both {first} and {index}");
                return Err(Error::invalid_argument(text));
            }
            _ => return Err(Error::invalid_argument(format!("Size {index} must be non-negative, not {size}"))),
        }
    }
    if let Some(unknown) = unknown {
        dims[unknown] = missing_size(tensor.shape(), &dims)?;
    }
    let requested = product(&dims)?;
    if requested != num_elements {
        return Err(Error::invalid_argument(format!(
            "Input to reshape is a tensor with {num_elements} values, but the requested shape has {requested}"
        )));
    }
    Ok(Shape::new(&dims))
}

/// Computes the size that replaces the -1. As in TensorFlow, zeros in both shapes cancel out.
fn missing_size(shape: &[usize], dims: &[usize]) -> Result<usize> {
    let has_zero = dims.contains(&0);
    let available: usize = shape.iter().filter(|dim| **dim > 0 || !has_zero).product();
    let known_product = product_of_positive(dims)?;
    if !available.is_multiple_of(known_product) {
        return Err(Error::invalid_argument(format!(
            "Input to reshape is a tensor with {available} values, but the requested shape requires a multiple of {known_product}"
        )));
    }
    Ok(available / known_product)
}

fn product(dims: &[usize]) -> Result<usize> {
    let product = product_of_positive(dims)?;
    Ok(if dims.contains(&0) { 0 } else { product })
}

fn product_of_positive(dims: &[usize]) -> Result<usize> {
    let too_many = || Error::invalid_argument("the requested shape has too many elements");
    let mut positive = dims.iter().filter(|dim| **dim > 0);
    let product = positive.try_fold(1_usize, |product, dim| product.checked_mul(*dim)).ok_or_else(too_many)?;
    i64::try_from(product).map(|_| product).map_err(|_| too_many())
}

/// Fails unless its input has a certain shape.
///
/// Source: `tf.ensure_shape` in TensorFlow 1.15.
pub struct EnsureShape {
    /// `None` if any shape is allowed.
    expected: Option<PartialShape>,
}

impl EnsureShape {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { expected: attrs.shape("shape")?.cloned() })
    }
}

impl Kernel for EnsureShape {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        run_in_place(self, inputs)
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for EnsureShape {
    fn is_brief(&self) -> bool {
        true
    }

    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        Some(self)
    }
}

impl InPlace for EnsureShape {
    fn change(&self, value: &mut Tensor) -> Result<()> {
        let Some(expected) = self.expected.as_ref().filter(|expected| !expected.is_compatible_with(value.shape()))
        else {
            return Ok(());
        };
        let size = |size: &Option<usize>| size.map_or("?".to_owned(), |size| size.to_string());
        let sizes: Vec<_> = expected.dims().iter().map(size).collect();
        Err(Error::invalid_argument(format!(
            "Shape of tensor {} is not compatible with expected shape [{}].",
            value.shape(),
            sizes.join(",")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use proptest::prelude::*;

    fn floats(dims: &[usize]) -> Tensor {
        let shape = Shape::new(dims);
        let values = vec![1.5_f32; shape.num_elements()];
        Tensor::from_values(shape, values).unwrap()
    }

    fn reshape(dims: &[usize], sizes: &[i32]) -> std::result::Result<Vec<usize>, String> {
        let sizes = Tensor::from_values(Shape::new(&[sizes.len()]), sizes.to_vec()).unwrap();
        match run_one(&Reshape, &[floats(dims), sizes]) {
            Ok(tensor) => Ok(tensor.shape().to_vec()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    #[test]
    fn reshape_computes_the_missing_size() {
        assert_eq!(reshape(&[6], &[2, 3]), Ok(vec![2, 3]));
        assert_eq!(reshape(&[2, 3], &[-1]), Ok(vec![6]));
        assert_eq!(reshape(&[2, 3], &[3, -1]), Ok(vec![3, 2]));
        assert_eq!(reshape(&[1], &[]), Ok(vec![]));
        assert_eq!(reshape(&[0, 3], &[-1, 3]), Ok(vec![0, 3]));
        assert_eq!(reshape(&[0, 6], &[0, -1]), Ok(vec![0, 6]));
    }

    #[test]
    fn reshape_copies_no_element_and_accepts_int64_sizes() {
        let tensor = floats(&[6, 2]);
        let sizes = Tensor::from_values(Shape::new(&[2]), vec![-1_i64, 4]).unwrap();
        let result = run_one(&Reshape, &[tensor.clone(), sizes]).unwrap();
        assert_eq!(result.bytes().as_ptr(), tensor.bytes().as_ptr());
        assert_eq!(result.shape(), &Shape::new(&[3, 4]));
    }

    #[test]
    fn reshape_errors_name_the_sizes() {
        let text = |dims: &[usize], sizes: &[i32]| reshape(dims, sizes).unwrap_err();
        assert_eq!(
            text(&[6], &[2, 2]),
            "InvalidArgument: Input to reshape is a tensor with 6 values, but the requested shape has 4"
        );
        assert_eq!(
            text(&[5], &[2, -1]),
            "InvalidArgument: Input to reshape is a tensor with 5 values, but the requested shape requires a multiple of 2"
        );
        assert_eq!(text(&[6], &[-1, -1]), "InvalidArgument: Only one input size may be -1, not both 0 and 1");
        assert_eq!(text(&[6], &[-2, 3]), "InvalidArgument: Size 0 must be non-negative, not -2");
        assert_eq!(text(&[6], &[i32::MAX; 3]), "InvalidArgument: the requested shape has too many elements");
        let scalar = Tensor::scalar(6_i32);
        assert_eq!(error_text(&Reshape, &[floats(&[6]), scalar]), "InvalidArgument: sizes input must be 1-D, not []");
    }

    proptest! {
        #[test]
        fn constant_sizes_have_the_same_result(
            dims in prop::collection::vec(0_usize..4, 0..4),
            sizes in prop::collection::vec(prop::sample::select(vec![-2_i64, -1, -1, 0, 1, 2, 3, 4, 6, 1 << 40]), 0..4),
        ) {
            let sizes = Tensor::from_values(Shape::new(&[sizes.len()]), sizes).unwrap();
            let specialised = Reshape.with_constants(&[None, Some(&sizes)]).unwrap();
            let outcome = |result: Result<Tensor>| result.map_err(|error| format!("{error:?}"));
            let expected = outcome(run_one(&Reshape, &[floats(&dims), sizes.clone()]));
            prop_assert_eq!(outcome(run_one(&*specialised, &[floats(&dims)])), expected);
        }
    }
}
