//! Runs a single kernel in a test.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step};
use crate::kernels::attrs::{Attr, Attrs};
use crate::run::Run;
use crate::sync::cancellation::Cancellation;
use crate::tensor::Tensor;

/// Creates attributes from their names and values.
pub fn attrs<const N: usize>(items: [(&str, Attr); N]) -> Attrs {
    let mut attrs = Attrs::default();
    items.into_iter().for_each(|(name, value)| attrs.insert(name, value));
    attrs
}

/// Runs a kernel once. Fails if it has to wait.
pub fn run(kernel: &dyn Kernel, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    match kernel.run(&Run::new(&Cancellation::new()), inputs.iter().cloned().collect())? {
        Step::Done(outputs) => Ok(outputs.into_vec()),
        Step::Pending(_) => Err(Error::internal("the kernel waits")),
    }
}

/// Runs a kernel that has one output.
pub fn run_one(kernel: &dyn Kernel, inputs: &[Tensor]) -> Result<Tensor> {
    let mut outputs = run(kernel, inputs)?;
    match (outputs.pop(), outputs.is_empty()) {
        (Some(output), true) => Ok(output),
        _ => Err(Error::internal("a kernel did not return exactly one output")),
    }
}

/// Returns the code and the message of a kernel's error, or an empty text if it succeeds.
pub fn error_text(kernel: &dyn Kernel, inputs: &[Tensor]) -> String {
    run(kernel, inputs).map_or_else(|error| format!("{error:?}"), |_| String::new())
}
