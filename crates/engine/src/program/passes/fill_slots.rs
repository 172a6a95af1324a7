//! Makes kernels write their outputs directly to slots.

use crate::program::Work;
use crate::program::draft::Draft;
use std::sync::Arc;

/// Replaces calls of kernels that can fill slots ([`Fill`](crate::kernel::rewrite::Fill)).
pub fn fill_slots(draft: &mut Draft) {
    for node in &mut draft.nodes {
        if let Work::Call(kernel) = &node.work
            && let Some(rewritable) = Arc::clone(kernel).rewritable()
            && let Some(kernel) = rewritable.fill()
        {
            node.work = Work::Fill(kernel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::kernel::rewrite::{Fill, Rewritable};
    use crate::kernel::{Kernel, Pending, Step, Tensors};
    use crate::program::passes::testing::Example;
    use crate::run::Run;
    use crate::tensor::Tensor;

    /// Returns 1 as its output, but fills its slot with 2.
    struct One;

    impl Kernel for One {
        fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
            Ok(Step::one(Tensor::scalar(1)))
        }

        fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
            Some(self)
        }
    }

    impl Rewritable for One {
        fn fill(self: Arc<Self>) -> Option<Arc<dyn Fill>> {
            Some(self)
        }
    }

    impl Fill for One {
        fn fill(&self, _: &Run, _: Tensors, slots: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>> {
            slots[0] = Some(Tensor::scalar(2));
            Ok(None)
        }
    }

    #[test]
    fn only_capable_kernels_fill_their_slots() {
        let mut example = Example::default();
        let (_, one) = example.builder.node("one".into(), Arc::new(One), &[], &[], &[], 1).unwrap();
        let negative = example.node("Neg", &[one]);
        let draft = example.after(fill_slots, &[negative]);
        let is_fill = |work: &Work| matches!(work, Work::Fill(_));
        assert_eq!(draft.nodes.iter().map(|node| is_fill(&node.work)).collect::<Vec<_>>(), [true, false]);
    }
}
