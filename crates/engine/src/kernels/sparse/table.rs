//! `AddSparseToTensorsMap`, `AddManySparseToTensorsMap`, `TakeManySparseFromTensorsMap`.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::sparse::{SparseTable, SparseTensor};
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use std::sync::Arc;

struct TableKernel {
    table: Arc<SparseTable>,
    action: Action,
}

enum Action {
    /// Maps `(indices, values, dense_shape)` to a handle.
    Add,
    /// Maps `(indices, values, dense_shape)`, and optionally a bool for each row, to a handle for
    /// each row that is kept.
    AddMany,
    /// Maps `(handles)` to `(indices, values, dense_shape)`.
    TakeMany(DType),
}

/// Creates the kernel for operations on a table of sparse tensors. Returns `None` if `op_type` is
/// not one.
pub fn build(op_type: &str, attrs: &Attrs, table: &Arc<SparseTable>) -> Result<Option<Arc<dyn Kernel>>> {
    let action = match op_type {
        "AddSparseToTensorsMap" => Action::Add,
        "AddManySparseToTensorsMap" => Action::AddMany,
        "TakeManySparseFromTensorsMap" => Action::TakeMany(attrs.dtype("dtype")?),
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(TableKernel { table: Arc::clone(table), action })))
}

impl Kernel for TableKernel {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        match (&self.action, inputs.as_slice()) {
            (Action::Add, [indices, values, dense_shape]) => {
                let sparse = SparseTensor::new(indices, values.clone(), dense_shape)?;
                Ok(Step::one(Tensor::scalar(self.table.park(sparse))))
            }
            (Action::AddMany, [indices, values, dense_shape, keep @ ..]) => {
                let rows = SparseTensor::new(indices, values.clone(), dense_shape)?.rows(keep.first())?;
                let handles: Vec<i64> = rows.into_iter().map(|row| self.table.park(row)).collect();
                Tensor::from_values(Shape::new(&[handles.len()]), handles).map(Step::one)
            }
            (Action::TakeMany(dtype), [handles]) => {
                let rows = self.table.take(handles.values()?)?;
                SparseTensor::stack(&rows, *dtype)?.into_parts().map(|parts| Step::Done(Outputs::from_iter(parts)))
            }
            _ => Err(Error::internal(format!("a table of sparse tensors got {} inputs", inputs.len()))),
        }
    }
}
