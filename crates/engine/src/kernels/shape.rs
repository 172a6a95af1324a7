//! Operations that hand their input on, under the same or another shape, without touching an element.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::{InPlace, Kernel, Step, Tensors, run_in_place};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::shape::{PartialShape, Shape};
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::sync::Arc;

/// Its input as it is; also `PlaceholderWithDefault` that was not fed.
pub struct Identity;

/// Nothing: a place for control dependencies to meet.
pub struct NoOp;

/// `(tensor, shape)`: the elements of `tensor` under `shape`, in which one size may be -1 and is then computed.
pub struct Reshape;

/// [`Reshape`] to sizes that are the same in every run.
struct ReshapeTo {
    sizes: SmallVec<[i64; 4]>,
    plain: Option<PlainSizes>,
}

/// Sizes without a 0, of which at most one is -1.
struct PlainSizes {
    /// With a 1 at the place of the -1.
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

    /// The shape of so many elements; `None` if they do not fit, or there are none.
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

/// A value that has to be fed: to run it is an error.
pub struct Placeholder {
    name: String,
    dtype: DType,
    shape: Option<PartialShape>,
}

impl Placeholder {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self {
            name: attrs.string("name")?.to_owned(),
            dtype: attrs.dtype("dtype")?,
            shape: attrs.shape("shape")?.cloned(),
        })
    }
}

impl Kernel for Identity {
    fn is_brief(&self) -> bool {
        true
    }

    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        run_in_place(self, inputs)
    }

    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        Some(self)
    }
}

impl InPlace for Identity {
    fn change(&self, _value: &mut Tensor) -> Result<()> {
        Ok(())
    }
}

impl Kernel for NoOp {
    fn is_brief(&self) -> bool {
        true
    }

    fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
        Ok(Step::none())
    }
}

impl Kernel for Reshape {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let [tensor, sizes] = expect_inputs(&inputs)?;
        let shape = requested_shape(tensor, &sizes_of(sizes)?)?;
        inputs.swap_remove(0).reshaped(shape).map(Step::one)
    }

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

impl Kernel for Placeholder {
    fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
        // As in TensorFlow, the shape of a scalar goes without saying.
        let shape = self.shape.as_ref().filter(|shape| !shape.dims().is_empty());
        let shape = shape.map_or(String::new(), |shape| format!(" and shape {shape}"));
        let Self { name, dtype, .. } = self;
        Err(Error::invalid_argument(format!(
            "You must feed a value for placeholder tensor '{name}' with dtype {dtype}{shape}"
        )))
    }
}

fn sizes_of(sizes: &Tensor) -> Result<SmallVec<[i64; 4]>> {
    if sizes.shape().len() != 1 {
        return Err(Error::invalid_argument(format!("sizes input must be 1-D, not {}", sizes.shape())));
    }
    sizes.integers()
}

/// The shape that `sizes` asks for, checked against the number of elements of `tensor`.
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

/// The size at the place of the -1. Where both shapes have zeros, these cancel out as in TensorFlow.
fn missing_size(shape: &[usize], dims: &[usize]) -> Result<usize> {
    let has_zero = dims.contains(&0);
    let available: usize = shape.iter().filter(|dim| **dim > 0 || !has_zero).product();
    let known = product_of_positive(dims)?;
    if !available.is_multiple_of(known) {
        return Err(Error::invalid_argument(format!(
            "Input to reshape is a tensor with {available} values, but the requested shape requires a multiple of {known}"
        )));
    }
    Ok(available / known)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run, run_one};
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
    fn identity_hands_its_input_on_without_a_copy() {
        let inputs = [floats(&[3, 4])];
        assert_eq!(run_one(&Identity, &inputs).unwrap().bytes().as_ptr(), inputs[0].bytes().as_ptr());
    }

    #[test]
    fn no_op_has_no_output() {
        assert!(run(&NoOp, &[]).unwrap().is_empty());
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
    fn reshape_copies_no_element_and_takes_int64_sizes() {
        let tensor = floats(&[6, 2]);
        let sizes = Tensor::from_values(Shape::new(&[2]), vec![-1_i64, 4]).unwrap();
        let result = run_one(&Reshape, &[tensor.clone(), sizes]).unwrap();
        assert_eq!(result.bytes().as_ptr(), tensor.bytes().as_ptr());
        assert_eq!(result.shape(), &Shape::new(&[3, 4]));
    }

    #[test]
    fn reshape_says_what_is_wrong() {
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
        fn sizes_that_never_change_do_the_same(
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

    #[test]
    fn a_placeholder_asks_to_be_fed() {
        let placeholder = |shape: Option<PartialShape>| {
            let attrs = attrs([
                ("name", Attr::String("p".into())),
                ("dtype", Attr::DType(DType::Float32)),
                ("shape", Attr::Shape(shape)),
            ]);
            error_text(&Placeholder::from_attrs(&attrs).unwrap(), &[])
        };
        assert_eq!(
            placeholder(Some(PartialShape::new(vec![None, Some(2)]))),
            "InvalidArgument: You must feed a value for placeholder tensor 'p' with dtype float and shape [?,2]"
        );
        for shape in [None, Some(PartialShape::default())] {
            assert_eq!(
                placeholder(shape),
                "InvalidArgument: You must feed a value for placeholder tensor 'p' with dtype float"
            );
        }
    }
}
