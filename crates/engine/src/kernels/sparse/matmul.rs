//! `SparseTensorDenseMatMul`: multiplies a sparse matrix by a dense one.

use super::elementwise::{elements, widened};
use super::parts::Parts;
use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::element::Arithmetic;
use crate::run::Run;
use crate::sparse::bracketed;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::shape::Shape;

/// Maps `(indices, values, shape, dense)`, all real numbers, to the product. Each matrix may be
/// transposed first.
///
/// Source: `tf.sparse_tensor_dense_matmul` in TensorFlow 1.15.
pub struct SparseTensorDenseMatMul {
    flips_sparse: bool,
    flips_dense: bool,
}

impl SparseTensorDenseMatMul {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { flips_sparse: attrs.bool("adjoint_a")?, flips_dense: attrs.bool("adjoint_b")? })
    }
}

impl Kernel for SparseTensorDenseMatMul {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, values, shape, dense] = expect_inputs(&inputs)?;
        let indices = widened(indices)?;
        let parts = Parts::new(&indices, values, shape)?;
        let [height, depth] = parts.sizes[..] else {
            let got = bracketed(parts.sizes);
            return Err(Error::invalid_argument(format!("Tensor 'a' is not a matrix: it has shape {got}")));
        };
        let [rows, columns] = dense.shape()[..] else {
            let got = dense.shape();
            return Err(Error::invalid_argument(format!("Tensor 'b' is not a matrix: it has shape {got}")));
        };
        let outside = parts.rows().position(|row| !(0..height).contains(&row[0]) || !(0..depth).contains(&row[1]));
        if let Some(element) = outside {
            let (row, sizes) = (bracketed(parts.row(element)), bracketed(parts.sizes));
            return Err(Error::invalid_argument(format!(
                "indices[{element}] = {row} is out of bounds: need 0 <= index < {sizes}"
            )));
        }
        let (height, depth) = if self.flips_sparse { (depth, height) } else { (height, depth) };
        let (rows, columns) = if self.flips_dense { (columns, rows) } else { (rows, columns) };
        let Some(height) = usize::try_from(height).ok().filter(|_| usize::try_from(depth) == Ok(rows)) else {
            return Err(Error::invalid_argument(format!(
                "Cannot multiply A and B because inner dimension does not match: {depth} vs. {rows}.  Did you forget a \
                 transpose?  Dimensions of A: [{height}, {depth}).  Dimensions of B: [{rows},{columns}]"
            )));
        };
        let (dtype, shape) = (values.dtype(), Shape::new(&[height, columns]));
        if dtype != dense.dtype() {
            return Err(Error::internal(format!("cannot multiply {dtype} and {}", dense.dtype())));
        }
        let unsupported = || Error::unimplemented(format!("The product of {dtype} is not supported"));
        dispatch_numeric!(dtype, T => self.product::<T>(&parts, dense, shape), else => Err(unsupported()))
            .map(Step::one)
    }
}

impl SparseTensorDenseMatMul {
    fn product<T: Arithmetic>(&self, parts: &Parts<'_>, dense: &Tensor, shape: Shape) -> Result<Tensor> {
        let columns = shape[1];
        let mut product: Vec<T> = allocate::elements(T::DTYPE, &shape).zeros()?;
        let dense_values = dense.values::<T>()?;
        let flipped;
        let dense = if self.flips_dense {
            let rows = dense.shape()[1];
            let turned = (0..rows).flat_map(|row| (0..columns).map(move |column| dense_values[column * rows + row]));
            flipped = allocate::elements(T::DTYPE, dense.shape()).collect(turned)?;
            &flipped[..]
        } else {
            dense_values
        };
        for (row, [value]) in parts.rows().zip(elements::<T, 1>(parts.values)) {
            let (to, from) = if self.flips_sparse { (row[1], row[0]) } else { (row[0], row[1]) };
            let sums = &mut product[to as usize * columns..][..columns];
            let factors = &dense[from as usize * columns..][..columns];
            sums.iter_mut().zip(factors).for_each(|(sum, factor)| *sum = sum.add(value.mul(*factor)));
        }
        Tensor::from_values(shape, product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::dtype::Numeric;

    fn numbers<T: Numeric>(dims: &[usize], values: &[T]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn kernel(adjoint_a: bool, adjoint_b: bool) -> SparseTensorDenseMatMul {
        let flags = [("adjoint_a", Attr::Bool(adjoint_a)), ("adjoint_b", Attr::Bool(adjoint_b))];
        SparseTensorDenseMatMul::from_attrs(&attrs(flags)).unwrap()
    }

    /// The matrix [[0, 2, 0], [3, 0, 4]] and another one.
    fn inputs(dims: &[usize], dense: &[i32]) -> [Tensor; 4] {
        let indices = numbers(&[3, 2], &[1_i64, 2, 0, 1, 1, 0]);
        [indices, numbers(&[3], &[4, 2, 3]), numbers(&[2], &[2_i64, 3]), numbers(dims, dense)]
    }

    #[test]
    fn either_matrix_can_be_transposed() {
        let product = numbers(&[2, 2], &[6, 8, 23, 30]);
        assert_eq!(run_one(&kernel(false, false), &inputs(&[3, 2], &[1, 2, 3, 4, 5, 6])).unwrap(), product);
        assert_eq!(run_one(&kernel(false, true), &inputs(&[2, 3], &[1, 3, 5, 2, 4, 6])).unwrap(), product);
        let product = numbers(&[3, 1], &[21, 10, 28]);
        assert_eq!(run_one(&kernel(true, false), &inputs(&[2, 1], &[5, 7])).unwrap(), product);
        assert_eq!(run_one(&kernel(true, true), &inputs(&[1, 2], &[5, 7])).unwrap(), product);
    }

    #[test]
    fn incompatible_shapes_are_rejected() {
        assert_eq!(
            error_text(&kernel(false, false), &inputs(&[2, 1], &[5, 7])),
            "InvalidArgument: Cannot multiply A and B because inner dimension does not match: 3 vs. 2.  Did you forget a \
             transpose?  Dimensions of A: [2, 3).  Dimensions of B: [2,1]"
        );
        assert_eq!(
            error_text(&kernel(false, false), &inputs(&[2], &[5, 7])),
            "InvalidArgument: Tensor 'b' is not a matrix: it has shape [2]"
        );
        let mut arguments = inputs(&[3, 1], &[5, 7, 9]);
        arguments[2] = numbers(&[2], &[2_i64, 2]);
        assert_eq!(
            error_text(&kernel(false, false), &arguments),
            "InvalidArgument: indices[0] = [1,2] is out of bounds: need 0 <= index < [2,2]"
        );
    }
}
