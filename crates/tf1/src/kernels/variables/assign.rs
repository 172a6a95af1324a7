//! `InitializedValue`, `Assign`, `AssignAdd`, `AssignSub`, `CountUpTo`, `IsVariableInitialized`.

use crate::variable::Variable;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::{Kernel, Step, Tensors};
use headrace_engine::kernels::attrs::Attrs;
use headrace_engine::run::Run;
use headrace_engine::tensor::Tensor;
use std::sync::Arc;

struct AssignKernel {
    variable: Arc<Variable>,
    action: Action,
}

enum Action {
    /// Reads the variable, or returns the input if it has no value yet.
    ReadOr,
    IsInitialized,
    Assign {
        same_shape: bool,
    },
    /// Adds or subtracts using this kernel.
    Update(Arc<dyn Kernel>),
    CountUpTo {
        limit: i64,
    },
}

/// Creates the kernel for operations that change or inspect a variable. Returns `None` for other
/// operations.
pub fn build(op_type: &str, attrs: &Attrs, variable: &Arc<Variable>) -> Result<Option<Arc<dyn Kernel>>> {
    let action = match op_type {
        "InitializedValue" => Action::ReadOr,
        "IsVariableInitialized" => Action::IsInitialized,
        "Assign" => Action::Assign { same_shape: attrs.bool("validate_shape")? },
        "AssignAdd" => Action::Update(arithmetic("Add", attrs)?),
        "AssignSub" => Action::Update(arithmetic("Sub", attrs)?),
        "CountUpTo" => Action::CountUpTo { limit: attrs.int("limit")? },
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(AssignKernel { variable: Arc::clone(variable), action })))
}

fn arithmetic(op_type: &str, attrs: &Attrs) -> Result<Arc<dyn Kernel>> {
    headrace_engine::kernels::build(op_type, attrs)?.ok_or_else(|| Error::internal(format!("unknown kernel {op_type}")))
}

impl Kernel for AssignKernel {
    fn run(&self, run: &Run, mut inputs: Tensors) -> Result<Step> {
        let variable = &self.variable;
        let mut input = || inputs.pop().ok_or_else(|| Error::internal("a value to assign is missing"));
        let output = match &self.action {
            Action::ReadOr => variable.get().map_or_else(input, Ok)?,
            Action::IsInitialized => Tensor::bool(variable.is_initialized()),
            Action::Assign { same_shape } => {
                let value = input()?;
                variable.assign(value.clone(), *same_shape)?;
                value
            }
            Action::Update(kernel) => {
                let operand = input()?;
                variable.update(|current| combine(kernel.as_ref(), run, current, operand))?
            }
            Action::CountUpTo { limit } => variable.update(|current| count_up(current, *limit))?,
        };
        Ok(Step::one(output))
    }
}

fn combine(kernel: &dyn Kernel, run: &Run, current: &Tensor, operand: Tensor) -> Result<(Tensor, Tensor)> {
    if current.shape() != operand.shape() {
        return Err(Error::invalid_argument(format!(
            "Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
            current.shape(),
            operand.shape()
        )));
    }
    match kernel.run(run, Tensors::from_iter([current.clone(), operand]))? {
        Step::Done(outputs) => outputs.into_iter().next().map(|value| (value.clone(), value)),
        Step::Pending(_) => None,
    }
    .ok_or_else(|| Error::internal("arithmetic returned no value"))
}

/// Returns the incremented value, and the old value, which is the output.
fn count_up(current: &Tensor, limit: i64) -> Result<(Tensor, Tensor)> {
    let count = current.integer_scalar("CountUpTo's variable")?;
    if count >= limit {
        return Err(Error::out_of_range(format!("Reached limit of {limit}")));
    }
    let next = match i32::try_from(count + 1) {
        Ok(next) if current.dtype() == headrace_engine::tensor::dtype::DType::Int32 => Tensor::scalar(next),
        _ => Tensor::scalar(count + 1),
    };
    Ok((next, current.clone()))
}
