//! `SparseAdd`, `SparseTensorDenseAdd`, `SparseSparseMaximum`, `SparseSparseMinimum`: combine two
//! tensors element by element.

use super::parts::Parts;
use super::to_dense::position;
use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::kernels::math::element::Arithmetic;
use crate::run::Run;
use crate::sparse::bracketed;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};
use crate::tensor::shape::Shape;
use bytemuck::Zeroable;
use std::cmp::Ordering;

/// Adds two sparse tensors of the same shape. The inputs are the parts of both, and a threshold. If
/// both tensors have an element, their sum is dropped if it is NaN or its absolute value is below
/// the threshold. Elements that only one tensor has are kept.
///
/// Source: `tf.sparse_add` in TensorFlow 1.15.
pub struct SparseAdd;

impl Kernel for SparseAdd {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [parts @ .., threshold] = inputs.as_slice() else { return Err(Error::internal("nothing to add")) };
        let pair = Pair::new(parts)?;
        if threshold.num_elements() != 1 {
            let got = threshold.shape();
            return Err(Error::invalid_argument(format!("The threshold has shape {got}, expected a scalar")));
        }
        let dtype = pair.one.values.dtype();
        let unsupported = || Error::unimplemented(format!("The sum of {dtype} is not supported"));
        let [indices, values] = match dtype {
            DType::Complex64 => {
                let least = threshold.values::<f32>()?[0];
                pair.added(|z: &[f32; 2]| f64::from(z[0]).hypot(z[1].into()) >= least.into())
            }
            DType::Complex128 => {
                let least = threshold.values::<f64>()?[0];
                pair.added(|z: &[f64; 2]| z[0].hypot(z[1]) >= least)
            }
            _ => dispatch_numeric!(dtype, T => {
                let least = threshold.values::<T>()?[0];
                pair.added(|x: &[T; 1]| x[0].abs() >= least)
            }, else => Err(unsupported())),
        }?;
        Ok(Step::Done(Outputs::from_iter([indices, values, pair.shape.clone()])))
    }
}

/// Maps the parts of two sparse tensors of the same shape to the indices and values of their
/// element-wise maximum or minimum. An element that is missing in one of them counts as 0.
///
/// Source: `tf.sparse_maximum` and `tf.sparse_minimum` in TensorFlow 1.15.
pub enum Extreme {
    /// `SparseSparseMaximum`
    Maximum,
    /// `SparseSparseMinimum`
    Minimum,
}

impl Kernel for Extreme {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let pair = Pair::new(inputs.as_slice())?;
        let dtype = pair.one.values.dtype();
        let unsupported = || Error::unimplemented(format!("The maximum and minimum of {dtype} are not supported"));
        let outputs = dispatch_numeric!(dtype, T => {
            let chosen = match self {
                Self::Maximum => T::larger,
                Self::Minimum => T::smaller,
            };
            pair.combined(|x: &[T; 1]| [chosen(x[0], T::zeroed())], |x, y| Some([chosen(x[0], y[0])]))
        }, else => Err(unsupported()))?;
        Ok(Step::Done(Outputs::from_iter(outputs)))
    }
}

/// Two sparse tensors of the same shape and dtype.
struct Pair<'t> {
    one: Parts<'t>,
    other: Parts<'t>,
    shape: &'t Tensor,
}

impl<'t> Pair<'t> {
    fn new(parts: &'t [Tensor]) -> Result<Self> {
        let [one, values, shape, other, other_values, other_shape] = parts else {
            return Err(Error::internal(format!("got {} inputs for two sparse tensors", parts.len())));
        };
        let pair =
            Self { one: Parts::new(one, values, shape)?, other: Parts::new(other, other_values, other_shape)?, shape };
        let (sizes, others) = (pair.one.sizes, pair.other.sizes);
        if sizes.len() != others.len() {
            return Err(Error::invalid_argument(format!(
                "Operands do not have the same ranks; got shapes: {} and {}",
                bracketed(sizes),
                bracketed(others)
            )));
        }
        if let Some(axis) = (0..sizes.len()).find(|axis| sizes[*axis] != others[*axis]) {
            return Err(Error::invalid_argument(format!(
                "Operands' shapes do not match: got {} and {} for dimension {axis}",
                sizes[axis], others[axis]
            )));
        }
        match values.dtype() == other_values.dtype() {
            true => Ok(pair),
            false => Err(Error::internal(format!("cannot combine {} and {}", values.dtype(), other_values.dtype()))),
        }
    }

    /// The indices and values of the sum.
    fn added<T: Arithmetic, const N: usize>(&self, is_kept: impl Fn(&[T; N]) -> bool) -> Result<[Tensor; 2]> {
        let sum = |x: &[T; N], y: &[T; N]| Some(std::array::from_fn(|part| x[part].add(y[part]))).filter(&is_kept);
        self.combined(|x| *x, sum)
    }

    /// Combines the elements that either tensor has. The result is ordered if both tensors are. A
    /// complex number is an element with two parts.
    fn combined<T: Numeric, const N: usize>(
        &self,
        alone: impl Fn(&[T; N]) -> [T; N],
        both: impl Fn(&[T; N], &[T; N]) -> Option<[T; N]>,
    ) -> Result<[Tensor; 2]> {
        let (one, other) = (&self.one, &self.other);
        let (xs, ys) = (elements::<T, N>(one.values), elements::<T, N>(other.values));
        let (mut positions, dtype) = (self.positions()?, one.values.dtype());
        let mut values: Vec<[T; N]> = allocate::elements(dtype, &Shape::new(&[positions.len()])).room()?;
        positions.retain(|position| {
            let value = match *position {
                ElementPosition::One(x) => Some(alone(&xs[x])),
                ElementPosition::Other(y) => Some(alone(&ys[y])),
                ElementPosition::Both(x, y) => both(&xs[x], &ys[y]),
            };
            values.extend(value);
            value.is_some()
        });
        Ok([self.indices(&positions)?, tensor(dtype, Shape::new(&[values.len()]), values)?])
    }

    /// The positions of the elements that either tensor has. They are ordered if both tensors are.
    fn positions(&self) -> Result<Vec<ElementPosition>> {
        let (one, other) = (&self.one, &self.other);
        let (num_xs, num_ys) = (one.num_values(), other.num_values());
        let room = allocate::room(num_xs.saturating_add(num_ys));
        let mut positions = room.map_err(|refusal| refusal.at("the positions of sparse values"))?;
        let (mut x, mut y) = (0, 0);
        while x < num_xs || y < num_ys {
            let order = match (x < num_xs, y < num_ys) {
                (true, true) => one.row(x).cmp(other.row(y)),
                (true, false) => Ordering::Less,
                _ => Ordering::Greater,
            };
            positions.push(match order {
                Ordering::Less => ElementPosition::One(x),
                Ordering::Equal => ElementPosition::Both(x, y),
                Ordering::Greater => ElementPosition::Other(y),
            });
            x += usize::from(order.is_le());
            y += usize::from(order.is_ge());
        }
        Ok(positions)
    }

    /// The indices of these elements.
    fn indices(&self, positions: &[ElementPosition]) -> Result<Tensor> {
        let shape = Shape::new(&[positions.len(), self.one.rank()]);
        let mut indices: Vec<i64> = allocate::elements(DType::Int64, &shape).room()?;
        for position in positions {
            indices.extend_from_slice(match *position {
                ElementPosition::One(x) | ElementPosition::Both(x, _) => self.one.row(x),
                ElementPosition::Other(y) => self.other.row(y),
            });
        }
        Tensor::from_values(shape, indices)
    }
}

/// Where an element occurs: in the first tensor, the second, or both.
#[derive(Clone, Copy)]
enum ElementPosition {
    One(usize),
    Other(usize),
    Both(usize, usize),
}

/// Adds the parts of a sparse tensor and a dense tensor of the same shape.
///
/// Source: `tf.sparse_add` in TensorFlow 1.15.
pub struct SparseTensorDenseAdd;

impl Kernel for SparseTensorDenseAdd {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, values, shape, dense] = expect_inputs(&inputs)?;
        let (indices, shape) = (widened(indices)?, widened(shape)?);
        let parts = Parts::new(&indices, values, &shape)?;
        check_shapes(parts.sizes, dense.shape())?;
        let dtype = dense.dtype();
        if dtype != values.dtype() {
            return Err(Error::internal(format!("cannot add {dtype} and {}", values.dtype())));
        }
        let unsupported = || Error::unimplemented(format!("The sum of {dtype} is not supported"));
        match dtype {
            DType::Complex64 => added::<f32, 2>(&parts, dense),
            DType::Complex128 => added::<f64, 2>(&parts, dense),
            _ => dispatch_numeric!(dtype, T => added::<T, 1>(&parts, dense), else => Err(unsupported())),
        }
        .map(Step::one)
    }
}

fn added<T: Arithmetic, const N: usize>(parts: &Parts<'_>, dense: &Tensor) -> Result<Tensor> {
    let shape = dense.shape();
    let dense_values = elements::<T, N>(dense).iter().copied();
    let mut sums: Vec<[T; N]> = allocate::elements(dense.dtype(), shape).collect(dense_values)?;
    for ((number, row), value) in parts.rows().enumerate().zip(elements::<T, N>(parts.values)) {
        let Some(at) = position(row, shape) else {
            let (row, sizes) = (bracketed(row), bracketed(parts.sizes));
            return Err(Error::invalid_argument(format!(
                "indices[{number}] = {row} is out of bounds: need 0 <= index < {sizes}"
            )));
        };
        sums[at].iter_mut().zip(value).for_each(|(sum, part)| *sum = sum.add(*part));
    }
    tensor(dense.dtype(), shape.clone(), sums)
}

/// Converts indices to int64 if they are int32.
pub(super) fn widened(indices: &Tensor) -> Result<Tensor> {
    match indices.dtype() {
        DType::Int32 => Tensor::from_values(indices.shape().clone(), indices.integers()?.into_vec()),
        _ => Ok(indices.clone()),
    }
}

fn check_shapes(sizes: &[i64], dense: &Shape) -> Result<()> {
    if sizes.len() != dense.len() {
        return Err(Error::invalid_argument(format!(
            "Two operands have different ranks: the sparse one has shape {} and the dense one {dense}",
            bracketed(sizes)
        )));
    }
    match (0..dense.len()).find(|axis| usize::try_from(sizes[*axis]) != Ok(dense[*axis])) {
        None => Ok(()),
        Some(axis) => Err(Error::invalid_argument(format!(
            "Dimension {axis} does not equal (no broadcasting is supported): sparse side {} vs dense side {}",
            sizes[axis], dense[axis]
        ))),
    }
}

/// Returns the elements of a tensor: numbers, or the two parts of complex numbers.
pub(super) fn elements<T: Numeric, const N: usize>(tensor: &Tensor) -> &[[T; N]] {
    bytemuck::cast_slice::<_, T>(tensor.bytes()).as_chunks().0
}

/// Creates a tensor from these elements.
pub(super) fn tensor<T: Numeric, const N: usize>(dtype: DType, shape: Shape, elements: Vec<[T; N]>) -> Result<Tensor> {
    match dtype == T::DTYPE && N == 1 {
        true => Tensor::from_values(shape, elements.into_flattened()),
        false => Tensor::copied(dtype, shape, bytemuck::cast_slice(elements.as_flattened())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run, run_one};

    fn numbers<T: Numeric>(dims: &[usize], values: &[T]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn sparse<T: Numeric>(indices: &[i64], values: &[T], sizes: &[i64]) -> [Tensor; 3] {
        let indices = numbers(&[values.len(), sizes.len()], indices);
        [indices, numbers(&[values.len()], values), numbers(&[sizes.len()], sizes)]
    }

    fn sum<T: Numeric>(one: [Tensor; 3], other: [Tensor; 3], threshold: T) -> Vec<Tensor> {
        let inputs: Vec<_> = one.into_iter().chain(other).chain([Tensor::scalar(threshold)]).collect();
        run(&SparseAdd, &inputs).unwrap()
    }

    #[test]
    fn sum_has_the_elements_of_both_operands() {
        let one = sparse(&[0, 1, 1, 0], &[5_i32, 6], &[2, 3]);
        let other = sparse(&[0, 0, 0, 1, 1, 2], &[1_i32, -5, 3], &[2, 3]);
        let expected = sparse(&[0, 0, 0, 1, 1, 0, 1, 2], &[1_i32, 0, 6, 3], &[2, 3]);
        assert_eq!(sum(one.clone(), other.clone(), 0_i32), expected);
        let expected = sparse(&[0, 0, 1, 0, 1, 2], &[1_i32, 6, 3], &[2, 3]);
        assert_eq!(sum(one, other, 1_i32), expected);
    }

    #[test]
    fn sum_drops_nan_and_small_complex_numbers() {
        let one = sparse(&[0, 1], &[f32::NAN, -0.0], &[3]);
        let outputs = sum(one, sparse(&[0, 2], &[0.0, 1_f32], &[3]), 0_f32);
        assert_eq!(
            outputs[1].values::<f32>().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            [(-0_f32).to_bits(), 1_f32.to_bits()]
        );
        let parts = |values: &[f64]| {
            let count = values.len() / 2;
            let values = Tensor::copied(DType::Complex128, Shape::new(&[count]), bytemuck::cast_slice(values));
            [numbers(&[count, 1], &[0_i64, 1][..count]), values.unwrap(), numbers(&[1], &[3_i64])]
        };
        assert_eq!(sum(parts(&[3., 4., 1., 0.]), parts(&[0., 0., 1., 0.]), 5_f64), parts(&[3., 4.]));
        assert_eq!(sum(parts(&[3., 4., 1., 0.]), parts(&[1., 2.]), 0_f64), parts(&[4., 6., 1., 0.]));
    }

    #[test]
    fn missing_elements_count_as_0_in_extremes() {
        let one = sparse(&[0, 2], &[5_i32, -6], &[4]);
        let other = sparse(&[0, 1], &[7_i32, 8], &[4]);
        let inputs: Vec<_> = one.into_iter().chain(other).collect();
        let indices = numbers(&[3, 1], &[0_i64, 1, 2]);
        assert_eq!(run(&Extreme::Maximum, &inputs).unwrap(), [indices.clone(), numbers(&[3], &[7, 8, 0])]);
        assert_eq!(run(&Extreme::Minimum, &inputs).unwrap(), [indices, numbers(&[3], &[5, 0, -6])]);
    }

    #[test]
    fn sparse_tensor_is_added_to_a_dense_one() {
        let dense = numbers(&[2, 3], &[1_i32, 2, 3, 4, 5, 6]);
        let inputs: Vec<_> =
            sparse(&[0, 1, 0, 1, 1, 2], &[10_i32, 20, 30], &[2, 3]).into_iter().chain([dense]).collect();
        assert_eq!(run_one(&SparseTensorDenseAdd, &inputs).unwrap(), numbers(&[2, 3], &[1, 32, 3, 4, 5, 36]));
        let mut small = inputs.clone();
        small[0] = numbers(&[3, 2], &[0_i32, 1, 0, 1, 1, 2]);
        small[2] = numbers(&[2], &[2_i32, 3]);
        assert_eq!(run_one(&SparseTensorDenseAdd, &small).unwrap(), numbers(&[2, 3], &[1, 32, 3, 4, 5, 36]));
    }

    #[test]
    fn different_shapes_are_rejected() {
        let text = |sizes: &[i64]| {
            let other = sparse::<i32>(&[], &[], sizes);
            let inputs: Vec<_> = sparse(&[0, 1], &[5_i32], &[2, 3]).into_iter().chain(other).collect();
            error_text(&Extreme::Maximum, &inputs)
        };
        assert_eq!(text(&[2, 4]), "InvalidArgument: Operands' shapes do not match: got 3 and 4 for dimension 1");
        assert_eq!(text(&[2]), "InvalidArgument: Operands do not have the same ranks; got shapes: [2,3] and [2]");
        let text = |indices: &[i64], dense: &[usize]| {
            let dense = numbers(dense, &[0_i32; 8][..dense.iter().product()]);
            let inputs: Vec<_> = sparse(indices, &[5_i32], &[2, 3]).into_iter().chain([dense]).collect();
            error_text(&SparseTensorDenseAdd, &inputs)
        };
        assert_eq!(
            text(&[0, 1], &[2, 4]),
            "InvalidArgument: Dimension 1 does not equal (no broadcasting is supported): sparse side 3 vs dense side 4"
        );
        assert_eq!(
            text(&[0, 1], &[3]),
            "InvalidArgument: Two operands have different ranks: the sparse one has shape [2,3] and the dense one [3]"
        );
        assert_eq!(
            text(&[0, 3], &[2, 3]),
            "InvalidArgument: indices[0] = [0,3] is out of bounds: need 0 <= index < [2,3]"
        );
    }
}
