//! Operations on variables.

pub mod assign;
pub mod scatter;
pub mod variable;

use crate::variable::Variable;
use headrace_engine::error::Result;
use headrace_engine::kernel::Kernel;
use headrace_engine::kernels::attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations on a variable. Returns `None` if `op_type` is not one.
pub fn build(op_type: &str, attrs: &Attrs, variable: &Arc<Variable>) -> Result<Option<Arc<dyn Kernel>>> {
    match variable::build(op_type, variable).or_else(|| scatter::build(op_type, variable)) {
        Some(kernel) => Ok(Some(kernel)),
        None => assign::build(op_type, attrs, variable),
    }
}
