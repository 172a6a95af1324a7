//! Frees constants that are no longer read.

use crate::program::draft::Draft;

/// Drops constants that were only read by kernels that have been specialised. These kernels keep a
/// copy if they need one.
pub fn drop_constants(draft: &mut Draft) {
    let num_readers = draft.num_readers();
    let unread = draft.initial.iter_mut().zip(num_readers).filter(|(_, num_readers)| *num_readers == 0);
    unread.for_each(|(constant, _)| *constant = None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::passes::testing::Example;
    use crate::tensor::Tensor;

    #[test]
    fn only_constants_that_are_read_are_kept() {
        let mut example = Example::default();
        let [unread, input, guard, fetch] = [1, 2, 3, 4].map(|value| example.builder.constant(Tensor::scalar(value)));
        let guarded = example.guarded_node("Neg", &[input], guard);
        let draft = example.after(drop_constants, &[guarded, fetch]);
        let is_there = [unread, input, guard, fetch].map(|slot| draft.initial[slot].is_some());
        assert_eq!(is_there, [false, true, true, true]);
    }
}
