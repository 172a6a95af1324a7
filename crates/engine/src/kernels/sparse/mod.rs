//! Operations on the parts of sparse tensors: indices (one row per element), values and shape.

pub mod cross;
pub mod elementwise;
pub mod fill_empty_rows;
pub mod join;
pub mod matmul;
pub mod merge;
pub mod parts;
pub mod reduce;
pub mod reorder;
pub mod reshape;
pub mod serialize;
pub mod slice;
pub mod table;
pub mod to_dense;

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use std::sync::Arc;

/// Returns the row numbers of a matrix, sorted by row. Equal rows keep their order.
fn sorted_rows(matrix: &[i64], num_rows: usize) -> Result<Vec<usize>> {
    let width = matrix.len().checked_div(num_rows).unwrap_or(0);
    let row = |number: usize| &matrix[number * width..(number + 1) * width];
    let numbers = allocate::collected(num_rows, 0..num_rows);
    let mut order = numbers.map_err(|refusal| refusal.at("the order of sparse values"))?;
    order.sort_unstable_by(|one, other| row(*one).cmp(row(*other)).then_with(|| one.cmp(other)));
    Ok(order)
}

/// Returns the elements of an int64 tensor. Fails if its rank is not `rank`. `what` names
/// the tensor in the error message.
fn numbers<'t>(tensor: &'t Tensor, rank: usize, what: &str) -> Result<&'t [i64]> {
    match tensor.shape().len() == rank {
        true => tensor.values(),
        false => {
            let kind = if rank == 1 { "vector" } else { "matrix" };
            let shape = tensor.shape();
            Err(Error::invalid_argument(format!("Input {what} should be a {kind} but received shape {shape}")))
        }
    }
}

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "DeserializeManySparse" => Arc::new(serialize::DeserializeManySparse::from_attrs(attrs)?),
        "SerializeManySparse" => Arc::new(serialize::SerializeManySparse),
        "SerializeSparse" => Arc::new(serialize::SerializeSparse),
        "SparseAdd" => Arc::new(elementwise::SparseAdd),
        "SparseConcat" => Arc::new(join::SparseConcat::from_attrs(attrs)?),
        "SparseCross" => Arc::new(cross::SparseCross::from_attrs(attrs)?),
        "SparseFillEmptyRows" => Arc::new(fill_empty_rows::SparseFillEmptyRows),
        "SparseMerge" => Arc::new(merge::SparseMerge::from_attrs(attrs)?),
        "SparseReduceMax" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Max, false, attrs)?),
        "SparseReduceMaxSparse" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Max, true, attrs)?),
        "SparseReduceSum" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Sum, false, attrs)?),
        "SparseReduceSumSparse" => Arc::new(reduce::Reduce::from_attrs(reduce::Function::Sum, true, attrs)?),
        "SparseReorder" => Arc::new(reorder::SparseReorder),
        "SparseReshape" => Arc::new(reshape::SparseReshape),
        "SparseSlice" => Arc::new(slice::SparseSlice),
        "SparseSparseMaximum" => Arc::new(elementwise::Extreme::Maximum),
        "SparseSparseMinimum" => Arc::new(elementwise::Extreme::Minimum),
        "SparseSplit" => Arc::new(slice::SparseSplit::from_attrs(attrs)?),
        "SparseTensorDenseAdd" => Arc::new(elementwise::SparseTensorDenseAdd),
        "SparseTensorDenseMatMul" => Arc::new(matmul::SparseTensorDenseMatMul::from_attrs(attrs)?),
        "SparseToDense" => Arc::new(to_dense::SparseToDense::from_attrs(attrs)?),
        _ => return Ok(None),
    }))
}
