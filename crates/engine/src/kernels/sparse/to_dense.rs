//! `SparseToDense`: converts a sparse tensor to a dense one.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::sparse::bracketed;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use std::cmp::Ordering;

/// Maps `(indices, shape, values, default)` to a dense tensor of that shape. A single index may be
/// a scalar, and indices into a vector may be a vector. A single value may be a scalar, which is
/// used for all indices.
///
/// Source: `tf.sparse_to_dense` in TensorFlow 1.15.
pub struct SparseToDense {
    /// True if the indices must be ordered and unique.
    is_checked: bool,
}

impl SparseToDense {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { is_checked: attrs.bool("validate_indices")? })
    }
}

impl Kernel for SparseToDense {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, shape, values, default] = expect_inputs(&inputs)?;
        check(indices, shape, values, default)?;
        let (indices, sizes) = (int64s(indices)?, int64s(shape)?);
        let shape = to_shape(&sizes)?;
        let positions = self.positions(&indices, &sizes, &shape)?;
        let at = |element: usize| if values.shape().is_empty() { 0 } else { element };
        let elements = allocate::elements(values.dtype(), &shape);
        if values.dtype() == DType::String {
            let mut strings = elements.copies(default.string_values()[0].clone())?;
            for (element, position) in positions.into_iter().enumerate() {
                strings[position] = values.string_values()[at(element)].clone();
            }
            return Tensor::strings(shape, strings).map(Step::one);
        }
        let size = values.dtype().size();
        let mut bytes = match default.bytes() {
            zero if zero.iter().all(|byte| *byte == 0) => elements.zeros::<u8>()?,
            value => {
                let mut bytes = elements.room()?;
                (0..shape.num_elements()).for_each(|_| bytes.extend_from_slice(value));
                bytes
            }
        };
        for (element, position) in positions.into_iter().enumerate() {
            let value = &values.stored()?[at(element) * size..(at(element) + 1) * size];
            bytes[position * size..(position + 1) * size].copy_from_slice(value);
        }
        Tensor::from_bytes(values.dtype(), shape, bytes.into()).map(Step::one)
    }
}

impl SparseToDense {
    /// The position of each element in the result.
    fn positions(&self, indices: &[i64], sizes: &[i64], shape: &Shape) -> Result<Vec<usize>> {
        if sizes.is_empty() {
            return Ok(Vec::new());
        }
        let count = indices.len() / sizes.len();
        let mut positions = allocate::room(count).map_err(|refusal| refusal.at("the positions of sparse values"))?;
        let mut before = None;
        for (number, row) in indices.chunks_exact(sizes.len()).enumerate() {
            let position = position(row, shape).ok_or_else(|| self.out_of_bounds(number, row, sizes))?;
            if let Some(before) = before.replace(row).filter(|_| self.is_checked) {
                check_order(number, before, row)?;
            }
            positions.push(position);
        }
        Ok(positions)
    }

    fn out_of_bounds(&self, number: usize, row: &[i64], sizes: &[i64]) -> Error {
        let (row, sizes) = (bracketed(row), bracketed(sizes));
        Error::invalid_argument(match self.is_checked {
            true => format!("indices[{number}] = {row} is out of bounds: need 0 <= index < {sizes}"),
            false => format!("Indices are not valid (out of bounds).  Shape: {sizes}, index: {row}"),
        })
    }
}

/// The row-major position of an element, or `None` if it is outside the shape.
pub(super) fn position(row: &[i64], shape: &Shape) -> Option<usize> {
    row.iter().zip(shape.iter()).try_fold(0, |position, (index, size)| {
        let index = usize::try_from(*index).ok().filter(|index| index < size)?;
        Some(position * size + index)
    })
}

fn check_order(number: usize, before: &[i64], row: &[i64]) -> Result<()> {
    let shown = bracketed(row);
    match row.cmp(before) {
        Ordering::Greater => Ok(()),
        Ordering::Equal => Err(Error::invalid_argument(format!("indices[{number}] = {shown} is repeated"))),
        Ordering::Less => Err(Error::invalid_argument(format!(
            "indices[{number}] = {shown} is out of order. Many sparse ops require sorted indices. Use \
             `tf.sparse.reorder` to create a correctly ordered copy."
        ))),
    }
}

fn check(indices: &Tensor, shape: &Tensor, values: &Tensor, default: &Tensor) -> Result<()> {
    let fail = |text: String| Err(Error::invalid_argument(text));
    let (count, rank) = match indices.shape()[..] {
        [] => (1, 1),
        [count] => (count, 1),
        [count, rank] => (count, rank),
        _ => {
            let got = indices.shape();
            return fail(format!("sparse_indices should be a scalar, vector, or matrix, got shape {got}"));
        }
    };
    if shape.shape().len() != 1 {
        return fail(format!("output_shape should be a vector, got shape {}", shape.shape()));
    }
    if shape.num_elements() != rank {
        let got = shape.num_elements();
        return fail(format!("output_shape has incorrect number of elements: {got} should be: {rank}"));
    }
    if !values.shape().is_empty() && values.shape()[..] != [count] {
        return fail(format!("sparse_values has incorrect shape {}, should be [] or [{count}]", values.shape()));
    }
    if !default.shape().is_empty() {
        return fail("default_value should be a scalar.".to_owned());
    }
    match default.dtype() == values.dtype() {
        true => Ok(()),
        false => {
            Err(Error::internal(format!("the default is {}, but the values are {}", default.dtype(), values.dtype())))
        }
    }
}

fn int64s(tensor: &Tensor) -> Result<Vec<i64>> {
    let elements = allocate::elements(DType::Int64, tensor.shape());
    match tensor.dtype() {
        DType::Int32 => elements.collect(tensor.values::<i32>()?.iter().copied().map(i64::from)),
        _ => elements.collect(tensor.values::<i64>()?.iter().copied()),
    }
}

fn to_shape(sizes: &[i64]) -> Result<Shape> {
    if let Some(size) = sizes.iter().find(|size| **size < 0) {
        return Err(Error::invalid_argument(format!("Dimension {size} must be >= 0")));
    }
    let sizes: Shape = sizes.iter().map(|size| *size as usize).collect();
    sizes.checked_num_elements().map(|_| sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use proptest::prelude::*;

    const CHECKING: SparseToDense = SparseToDense { is_checked: true };
    const TRUSTING: SparseToDense = SparseToDense { is_checked: false };

    fn int64s_of(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn inputs(indices: Tensor, shape: &[i64], values: Tensor) -> [Tensor; 4] {
        [indices, int64s_of(&[shape.len()], shape), values, Tensor::scalar(-1_i64)]
    }

    #[test]
    fn elements_are_placed_by_their_indices() {
        let matrix = inputs(int64s_of(&[2, 2], &[0, 1, 1, 0]), &[2, 3], int64s_of(&[2], &[5, 6]));
        assert_eq!(run_one(&CHECKING, &matrix).unwrap(), int64s_of(&[2, 3], &[-1, 5, -1, 6, -1, -1]));
        let vector = inputs(int64s_of(&[2], &[0, 2]), &[3], Tensor::scalar(7_i64));
        assert_eq!(run_one(&CHECKING, &vector).unwrap(), int64s_of(&[3], &[7, -1, 7]));
        let scalar = inputs(Tensor::scalar(1_i64), &[2], Tensor::scalar(7_i64));
        assert_eq!(run_one(&CHECKING, &scalar).unwrap(), int64s_of(&[2], &[-1, 7]));
        let unordered = inputs(int64s_of(&[3], &[1, 0, 1]), &[2], int64s_of(&[3], &[5, 6, 7]));
        assert_eq!(run_one(&TRUSTING, &unordered).unwrap(), int64s_of(&[2], &[6, 7]));
        let nothing = inputs(int64s_of(&[0, 0], &[]), &[], int64s_of(&[0], &[]));
        assert_eq!(run_one(&CHECKING, &nothing).unwrap(), Tensor::scalar(-1_i64));
    }

    #[test]
    fn strings_and_int32_indices_are_accepted() {
        let indices = Tensor::from_values(Shape::new(&[1]), vec![1_i32]).unwrap();
        let shape = Tensor::from_values(Shape::new(&[1]), vec![2_i32]).unwrap();
        let dense = run_one(&CHECKING, &[indices, shape, Tensor::string("a"), Tensor::string("z")]).unwrap();
        assert_eq!(dense.string_values(), ["z", "a"]);
    }

    #[test]
    fn errors_name_invalid_indices() {
        let text = |kernel: &SparseToDense, indices: &[i64]| {
            let indices = int64s_of(&[indices.len() / 2, 2], indices);
            error_text(kernel, &inputs(indices, &[2, 2], Tensor::scalar(0_i64)))
        };
        let prefix = "InvalidArgument: indices[1] =";
        assert_eq!(text(&CHECKING, &[0, 0, 0, 2]), format!("{prefix} [0,2] is out of bounds: need 0 <= index < [2,2]"));
        assert!(text(&CHECKING, &[0, 0, -1, 0]).starts_with(&format!("{prefix} [-1,0] is out of bounds")));
        assert!(text(&CHECKING, &[1, 0, 0, 1]).starts_with(&format!("{prefix} [0,1] is out of order. Many sparse")));
        assert_eq!(text(&CHECKING, &[1, 0, 1, 0]), format!("{prefix} [1,0] is repeated"));
        assert!(
            text(&TRUSTING, &[0, 2])
                .starts_with("InvalidArgument: Indices are not valid (out of bounds).  Shape: [2,2]")
        );
    }

    #[test]
    fn errors_describe_wrong_shapes() {
        let text = |indices: Tensor, shape: Tensor, values: Tensor, default: Tensor| {
            error_text(&CHECKING, &[indices, shape, values, default]).split_off("InvalidArgument: ".len())
        };
        let (zero, one, pair) = (Tensor::scalar(0_i64), int64s_of(&[1], &[1]), int64s_of(&[2], &[0, 1]));
        let cube = int64s_of(&[1, 1, 1], &[0]);
        assert_eq!(
            text(cube, one.clone(), zero.clone(), zero.clone()),
            "sparse_indices should be a scalar, vector, or matrix, got shape [1,1,1]"
        );
        assert_eq!(
            text(zero.clone(), zero.clone(), zero.clone(), zero.clone()),
            "output_shape should be a vector, got shape []"
        );
        assert_eq!(
            text(pair.clone(), pair.clone(), zero.clone(), zero.clone()),
            "output_shape has incorrect number of elements: 2 should be: 1"
        );
        assert_eq!(
            text(pair.clone(), one.clone(), one.clone(), zero.clone()),
            "sparse_values has incorrect shape [1], should be [] or [2]"
        );
        assert_eq!(text(zero.clone(), one.clone(), zero.clone(), one), "default_value should be a scalar.");
        let negative = int64s_of(&[1], &[-2]);
        assert_eq!(text(zero.clone(), negative, zero.clone(), zero.clone()), "Dimension -2 must be >= 0");
        let huge = int64s_of(&[2], &[1 << 40, 1 << 40]);
        let none = int64s_of(&[0, 2], &[]);
        assert_eq!(
            text(none, huge, zero.clone(), zero),
            "Shape [1099511627776,1099511627776] would have more than 2**63 - 1 elements"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_indices_are_placed_or_rejected(indices: Vec<i64>, sizes in prop::array::uniform2(-1_i64..4)) {
            let indices = int64s_of(&[indices.len() / 2, 2], &indices[..indices.len() / 2 * 2]);
            for kernel in [CHECKING, TRUSTING] {
                let _ = run_one(&kernel, &inputs(indices.clone(), &sizes, Tensor::scalar(1_i64)));
            }
        }
    }
}
