//! An operation that picks one of several resources in each run.

use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::{Kernel, Step, Tensors};
use headrace_engine::run::Run;
use std::sync::Arc;

/// The same operation for each of several resources. The first input is the index of the one to
/// use.
pub struct Select(Vec<Arc<dyn Kernel>>);

impl Select {
    /// Creates it from one kernel per resource.
    pub fn new(kernels: Vec<Arc<dyn Kernel>>) -> Self {
        Self(kernels)
    }
}

impl Kernel for Select {
    fn run(&self, run: &Run, mut inputs: Tensors) -> Result<Step> {
        if inputs.is_empty() {
            return Err(Error::internal("the index is missing"));
        }
        let index = inputs.remove(0).integer_scalar("index")?;
        let kernel = usize::try_from(index).ok().and_then(|index| self.0.get(index));
        let text = || format!("index = {index} is not in [0, {})", self.0.len());
        kernel.ok_or_else(|| Error::invalid_argument(text()))?.run(run, inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::kernels::array::placeholder::Identity;
    use headrace_engine::kernels::math::arithmetic;
    use headrace_engine::kernels::testing::{error_text, run_one};
    use headrace_engine::tensor::Tensor;

    #[test]
    fn first_input_selects_one_of_the_others() {
        let select = Select::new(vec![Arc::new(Identity), Arc::new(arithmetic::Unary::Neg)]);
        let value = |index: i32| run_one(&select, &[Tensor::scalar(index), Tensor::scalar(7_i64)]).unwrap();
        assert_eq!(value(0).integer_scalar("value").unwrap(), 7);
        assert_eq!(value(1).integer_scalar("value").unwrap(), -7);
    }

    #[test]
    fn index_out_of_range_is_rejected() {
        let select = Select::new(vec![Arc::new(Identity)]);
        let text = |index: i32| error_text(&select, &[Tensor::scalar(index), Tensor::scalar(7_i64)]);
        assert_eq!(text(1), "InvalidArgument: index = 1 is not in [0, 1)");
        assert_eq!(text(-1), "InvalidArgument: index = -1 is not in [0, 1)");
        assert_eq!(error_text(&select, &[]), "Internal: the index is missing");
    }
}
