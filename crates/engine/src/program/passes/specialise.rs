//! Replaces kernels with versions that are specialised for their constant inputs.

use crate::program::Work;
use crate::program::draft::Draft;
use std::sync::Arc;

/// Requests a version of each kernel that is specialised for its constant inputs. The new kernel
/// only gets the other inputs.
pub fn specialise(draft: &mut Draft) {
    for node in &mut draft.nodes {
        let Work::Call(kernel) = &node.work else { continue };
        let Some(rewritable) = Arc::clone(kernel).rewritable() else { continue };
        let constants: Vec<_> = node.inputs.iter().map(|input| draft.initial[input.slot].as_ref()).collect();
        if let Some(kernel) = rewritable.with_constants(&constants) {
            node.work = Work::Call(kernel);
            node.inputs.retain(|input| draft.initial[input.slot].is_none());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::passes::testing::Example;
    use crate::tensor::Tensor;

    #[test]
    fn specialised_kernel_receives_only_its_non_constant_input() {
        let mut example = Example::default();
        let two = example.builder.constant(Tensor::scalar(2_i64));
        let fed = example.builder.feed();
        let sum = example.node("Add", &[fed, two]);
        let draft = example.after(specialise, &[sum]);
        assert_eq!(draft.nodes[0].inputs.iter().map(|input| input.slot).collect::<Vec<_>>(), [fed]);
    }

    #[test]
    fn kernel_without_constant_inputs_is_not_replaced() {
        let mut example = Example::default();
        let fed = example.builder.feed();
        let sum = example.node("Add", &[fed, fed]);
        assert_eq!(example.after(specialise, &[sum]).nodes[0].inputs.len(), 2);
    }
}
