//! `NoOp`: an operation that computes nothing and groups other operations.

use crate::error::Result;
use crate::kernel::rewrite::Rewritable;
use crate::kernel::{Kernel, Step, Tensors};
use crate::run::Run;
use std::sync::Arc;

/// Does nothing except gather control dependencies.
pub struct NoOp;

impl Kernel for NoOp {
    fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
        Ok(Step::none())
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for NoOp {
    fn is_brief(&self) -> bool {
        true
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
