//! `VariableV2`: reads a variable.

use crate::variable::Variable;
use headrace_engine::error::Result;
use headrace_engine::kernel::{Kernel, Step, Tensors};
use headrace_engine::run::Run;
use std::sync::Arc;

/// Returns the value of a variable. Fails if it has none yet.
struct Read(Arc<Variable>);

impl Kernel for Read {
    fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
        self.0.read().map(Step::one)
    }
}

/// Creates the kernel that reads a variable. Returns `None` for other operations.
pub fn build(op_type: &str, variable: &Arc<Variable>) -> Option<Arc<dyn Kernel>> {
    match op_type {
        "VariableV2" => Some(Arc::new(Read(Arc::clone(variable)))),
        _ => None,
    }
}
