//! `NoOp`: an operation that computes nothing and groups others.

use crate::error::Result;
use crate::kernel::{Kernel, Step, Tensors};
use crate::run::Run;

/// Nothing: a place for control dependencies to meet.
pub struct NoOp;

impl Kernel for NoOp {
    fn is_brief(&self) -> bool {
        true
    }

    fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
        Ok(Step::none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::run;

    #[test]
    fn no_op_has_no_output() {
        assert!(run(&NoOp, &[]).unwrap().is_empty());
    }
}
