//! Makes kernels change their input in place if nothing else reads it.

use crate::program::draft::Draft;
use crate::program::{Input, Slot, Work};
use std::sync::Arc;

/// Replaces calls of kernels that can work in place, if their only input is another node's output
/// and they are its only reader. Their output then uses the slot of their input, so a chain of
/// `decode_raw`, `cast`, a product and a `reshape` moves no tensors. The kernels remain separate
/// nodes, so that errors refer to the right one.
///
/// Programs with branches are not changed, because a skipped node would leave its input in the slot
/// of its output.
pub fn change_in_place(draft: &mut Draft) {
    if draft.has_branches() {
        return;
    }
    let num_readers = draft.num_readers();
    let mut moved_to: Vec<Slot> = (0..draft.initial.len()).collect();
    for node in &mut draft.nodes {
        let is_only_reader = node.inputs.iter().all(|input| num_readers[input.slot] == 1);
        node.inputs.iter_mut().for_each(|input| input.slot = moved_to[input.slot]);
        if let ([Input { slot, producer: Some(_), .. }], 1, Work::Call(kernel)) =
            (&node.inputs[..], node.num_outputs, &node.work)
            && is_only_reader
            && let Some(rewritable) = Arc::clone(kernel).rewritable()
            && let Some(kernel) = rewritable.in_place()
        {
            moved_to[node.first_output] = *slot;
            node.first_output = *slot;
            node.work = Work::Change(kernel);
        }
    }
    draft.fetches.iter_mut().for_each(|slot| *slot = moved_to[*slot]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::passes::testing::Example;

    fn changed(draft: &Draft) -> Vec<bool> {
        draft.nodes.iter().map(|node| matches!(node.work, Work::Change(_))).collect()
    }

    #[test]
    fn chain_of_kernels_shares_one_slot() {
        let mut example = Example::default();
        let fed = example.builder.feed();
        let first = example.node("Neg", &[fed]);
        let second = example.node("Identity", &[first]);
        let third = example.node("Identity", &[second]);
        let draft = example.after(change_in_place, &[third]);
        assert_eq!((changed(&draft), draft.fetches), (vec![false, true, true], vec![first]));
    }

    #[test]
    fn feeds_and_outputs_with_two_readers_are_not_changed() {
        let mut example = Example::default();
        let fed = example.builder.feed();
        let first = example.node("Identity", &[fed]);
        let second = example.node("Identity", &[first]);
        let draft = example.after(change_in_place, &[first, second]);
        assert_eq!(changed(&draft), [false, false]);
    }

    #[test]
    fn programs_with_branches_are_not_changed() {
        let mut example = Example::default();
        let (fed, predicate) = (example.builder.feed(), example.builder.feed());
        let first = example.node("Neg", &[fed]);
        let second = example.guarded_node("Identity", &[first], predicate);
        assert_eq!(changed(&example.after(change_in_place, &[second])), [false, false]);
    }
}
