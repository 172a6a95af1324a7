//! `SparseReduceSum`, `SparseReduceMax` and similar operations: reduce a sparse tensor over some
//! axes.

use super::elementwise::{elements, tensor};
use super::parts::{Parts, vector};
use super::sorted_rows;
use super::to_dense;
use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::array::join;
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::accumulate::Accumulate;
use crate::run::Run;
use crate::sparse::bracketed;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// The function that reduces several elements to one.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// The sum. Integers wrap.
    Sum,
    /// The largest element, or NaN if any is NaN.
    Max,
}

/// Maps `(indices, values, shape, axes)` to a dense tensor, or to the parts of a sparse one. If no
/// input is reduced to an element, it is 0 in a dense result and missing in a sparse one. Floats
/// are added in double precision.
///
/// Source: `tf.sparse_reduce_sum`, `tf.sparse_reduce_sum_sparse` and similar functions of
/// TensorFlow 1.15.
pub struct Reduce {
    function: Function,
    is_sparse: bool,
    keeps_dims: bool,
}

impl Reduce {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(function: Function, is_sparse: bool, attrs: &Attrs) -> Result<Self> {
        Ok(Self { function, is_sparse, keeps_dims: attrs.bool("keep_dims")? })
    }
}

impl Kernel for Reduce {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, values, shape, axes] = expect_inputs(&inputs)?;
        let parts = Parts::new(indices, values, shape)?;
        let is_kept = kept(axes, parts.rank())?;
        // Axes that are kept, or that remain with size 1.
        let stays = |axis: &usize| self.keeps_dims || is_kept[*axis];
        let of_result = |row: &[i64], reduced: i64| -> Vec<i64> {
            (0..row.len()).filter(stays).map(|axis| if is_kept[axis] { row[axis] } else { reduced }).collect()
        };
        let sizes = of_result(parts.sizes, 1);
        if let Some(size) = sizes.iter().find(|size| **size < 0) {
            return Err(Error::invalid_argument(format!("Dimension {size} must be >= 0")));
        }
        let width = sizes.len();
        let mut rows: Vec<i64> = allocate::elements(DType::Int64, &Shape::new(&[parts.num_values(), width])).room()?;
        for row in parts.rows() {
            let kept = (0..row.len()).filter(stays);
            rows.extend(kept.map(|axis| if is_kept[axis] { row[axis] } else { 0 }));
        }
        if !self.is_sparse {
            let shape: Shape = sizes.iter().map(|size| *size as usize).collect();
            shape.checked_num_elements()?;
            let positions = dense_positions(&rows, &parts, &shape)?;
            return self.reduced(values, &positions, shape).map(Step::one);
        }
        let order = sorted_rows(&rows, parts.num_values())?;
        let row = |element: usize| &rows[element * width..(element + 1) * width];
        let mut positions =
            allocate::copies(parts.num_values(), 0).map_err(|refusal| refusal.at("the positions of sparse values"))?;
        let mut group_starts: Vec<usize> = Vec::new();
        for element in order {
            if group_starts.last().is_none_or(|last| row(*last) != row(element)) {
                allocate::grow(&mut group_starts, 1).map_err(|refusal| refusal.at("the positions of sparse values"))?;
                group_starts.push(element);
            }
            positions[element] = group_starts.len() - 1;
        }
        let rows = Tensor::from_values(Shape::new(&[parts.num_values(), width]), rows)?
            .take_rows(&group_starts, &[group_starts.len()])?;
        let values = self.reduced(values, &positions, Shape::new(&[group_starts.len()]))?;
        Ok(Step::Done(Outputs::from_iter([rows, values, vector(&sizes)?])))
    }
}

impl Reduce {
    /// Computes the elements of the result. `positions` has for each value the element to which it
    /// is reduced.
    fn reduced(&self, values: &Tensor, positions: &[usize], shape: Shape) -> Result<Tensor> {
        let dtype = values.dtype();
        let unsupported = || Error::unimplemented(format!("{:?} of {dtype} is not supported", self.function));
        match (self.function, dtype) {
            (Function::Sum, DType::Complex64) => sums::<f32, 2>(values, positions, shape),
            (Function::Sum, DType::Complex128) => sums::<f64, 2>(values, positions, shape),
            (Function::Sum, _) => {
                dispatch_numeric!(dtype, T => sums::<T, 1>(values, positions, shape), else => Err(unsupported()))
            }
            (Function::Max, _) => {
                dispatch_numeric!(dtype, T => largest::<T>(values, positions, shape), else => Err(unsupported()))
            }
        }
    }
}

fn sums<T: Accumulate, const N: usize>(values: &Tensor, positions: &[usize], shape: Shape) -> Result<Tensor> {
    let room = allocate::elements(DType::Complex128, &shape);
    room.check()?;
    let zeros = std::iter::repeat_n([T::ZERO; N], shape.num_elements());
    let collected = allocate::collected(shape.num_elements(), zeros);
    let mut sums = collected.map_err(|refusal| refusal.of_tensor(values.dtype(), &shape))?;
    for (value, position) in elements::<T, N>(values).iter().zip(positions) {
        sums[*position].iter_mut().zip(value).for_each(|(sum, part)| *sum = T::plus(*sum, *part));
    }
    let narrowed = allocate::collected(sums.len(), sums.into_iter().map(|sum| sum.map(T::narrow)));
    let narrowed = narrowed.map_err(|refusal| refusal.of_tensor(values.dtype(), &shape))?;
    tensor(values.dtype(), shape, narrowed)
}

fn largest<T: Accumulate>(values: &Tensor, positions: &[usize], shape: Shape) -> Result<Tensor> {
    let room = allocate::elements(values.dtype(), &shape);
    let mut results: Vec<T> = room.zeros()?;
    let mut is_there = allocate::elements(DType::Bool, &shape).copies(false)?;
    for (value, position) in values.values::<T>()?.iter().zip(positions) {
        let has_value = std::mem::replace(&mut is_there[*position], true);
        results[*position] = if has_value { results[*position].larger(*value) } else { *value };
    }
    Tensor::from_values(shape, results)
}

/// Returns the position in the result for each row of indices.
fn dense_positions(rows: &[i64], parts: &Parts<'_>, shape: &Shape) -> Result<Vec<usize>> {
    let width = shape.len();
    let position = |element: usize| {
        to_dense::position(&rows[element * width..(element + 1) * width], shape).ok_or_else(|| {
            let (row, sizes) = (bracketed(parts.row(element)), bracketed(parts.sizes));
            Error::invalid_argument(format!("indices[{element}] = {row} is out of bounds: need 0 <= index < {sizes}"))
        })
    };
    let mut positions =
        allocate::room(parts.num_values()).map_err(|refusal| refusal.at("the positions of sparse values"))?;
    for element in 0..parts.num_values() {
        positions.push(position(element)?);
    }
    Ok(positions)
}

/// Returns for each axis whether it is kept.
fn kept(axes: &Tensor, rank: usize) -> Result<Vec<bool>> {
    if axes.shape().len() > 1 {
        let got = axes.shape();
        return Err(Error::invalid_argument(format!("reduction_axes have shape {got}, expected a scalar or a vector")));
    }
    let mut is_kept: Vec<_> = (0..rank).map(|_| true).collect();
    for axis in axes.integers()? {
        let Some(position) = join::position(axis, rank) else {
            let text = format!("Invalid reduction dimension {axis}, for input with {rank} dimensions.");
            return Err(Error::invalid_argument(text));
        };
        is_kept[position] = false;
    }
    Ok(is_kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run, run_one};
    use crate::tensor::dtype::Numeric;

    fn numbers<T: Numeric>(dims: &[usize], values: &[T]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn kernel(function: Function, is_sparse: bool, keeps_dims: bool) -> Reduce {
        Reduce::from_attrs(function, is_sparse, &attrs([("keep_dims", Attr::Bool(keeps_dims))])).unwrap()
    }

    /// Five elements of a 4×5 matrix.
    fn inputs(axes: &[i32]) -> [Tensor; 4] {
        let indices = numbers(&[5, 2], &[0, 0, 3, 0, 1, 1, 0, 2, 3, 3_i64]);
        [indices, numbers(&[5], &[1, 4, -3, 2, 5_i32]), numbers(&[2], &[4, 5_i64]), numbers(&[axes.len()], axes)]
    }

    #[test]
    fn dense_result_has_zeros_for_missing_elements() {
        let (sum, max) = (kernel(Function::Sum, false, false), kernel(Function::Max, false, false));
        assert_eq!(run_one(&sum, &inputs(&[1])).unwrap(), numbers(&[4], &[3, -3, 0, 9]));
        assert_eq!(run_one(&max, &inputs(&[1])).unwrap(), numbers(&[4], &[2, -3, 0, 5]));
        assert_eq!(run_one(&max, &inputs(&[0, 0])).unwrap(), numbers(&[5], &[4, -3, 2, 5, 0]));
        assert_eq!(run_one(&sum, &inputs(&[-1, 0])).unwrap(), Tensor::scalar(9));
        let keeping = kernel(Function::Sum, false, true);
        assert_eq!(run_one(&keeping, &inputs(&[0])).unwrap(), numbers(&[1, 5], &[5, -3, 2, 5, 0]));
    }

    #[test]
    fn sparse_result_has_only_elements_with_inputs() {
        let sum = kernel(Function::Sum, true, false);
        let expected = [numbers(&[3, 1], &[0, 1, 3_i64]), numbers(&[3], &[3, -3, 9]), numbers(&[1], &[4_i64])];
        assert_eq!(run(&sum, &inputs(&[1])).unwrap(), expected);
        let keeping = kernel(Function::Max, true, true);
        let indices = numbers(&[4, 2], &[0, 0, 0, 1, 0, 2, 0, 3_i64]);
        let expected = [indices, numbers(&[4], &[4, -3, 2, 5]), numbers(&[2], &[1, 5_i64])];
        assert_eq!(run(&keeping, &inputs(&[0])).unwrap(), expected);
        let expected = [numbers::<i64>(&[1, 0], &[]), numbers(&[1], &[9]), numbers::<i64>(&[0], &[])];
        assert_eq!(run(&sum, &inputs(&[0, 1])).unwrap(), expected);
    }

    #[test]
    fn complex_numbers_are_added() {
        let mut arguments = inputs(&[0]);
        let parts: Vec<f32> = (0..10_u8).map(f32::from).collect();
        arguments[1] = Tensor::copied(DType::Complex64, Shape::new(&[5]), bytemuck::cast_slice(&parts)).unwrap();
        let sum = run_one(&kernel(Function::Sum, false, false), &arguments).unwrap();
        let expected = [2., 4., 4., 5., 6., 7., 8., 9., 0., 0_f32];
        assert_eq!((sum.dtype(), sum.bytes()), (DType::Complex64, bytemuck::cast_slice(&expected)));
        assert_eq!(
            error_text(&kernel(Function::Max, false, false), &arguments),
            "Unimplemented: Max of complex64 is not supported"
        );
    }

    #[test]
    fn incompatible_shapes_are_rejected() {
        let sum = kernel(Function::Sum, false, false);
        assert_eq!(
            error_text(&sum, &inputs(&[2])),
            "InvalidArgument: Invalid reduction dimension 2, for input with 2 dimensions."
        );
        let mut arguments = inputs(&[1]);
        arguments[2] = numbers(&[2], &[3, 5_i64]);
        assert_eq!(
            error_text(&sum, &arguments),
            "InvalidArgument: indices[1] = [3,0] is out of bounds: need 0 <= index < [3,5]"
        );
        arguments[3] = numbers(&[1, 1], &[1]);
        assert_eq!(
            error_text(&sum, &arguments),
            "InvalidArgument: reduction_axes have shape [1,1], expected a scalar or a vector"
        );
    }
}
