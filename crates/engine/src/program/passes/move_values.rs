//! Moves each value to its last reader instead of cloning it.

use crate::program::draft::Draft;

/// Marks the last use of each value. Values that are fetched, fed, constant, or read by a guard
/// stay in their slots.
pub fn move_values(draft: &mut Draft) {
    let mut is_read_later: Vec<bool> = draft.producers.iter().map(Option::is_none).collect();
    draft.fetches.iter().for_each(|slot| is_read_later[*slot] = true);
    draft.nodes.iter().flat_map(|node| &node.guards).for_each(|guard| is_read_later[guard.slot] = true);
    for input in draft.nodes.iter_mut().rev().flat_map(|node| node.inputs.iter_mut().rev()) {
        input.is_last_use = !std::mem::replace(&mut is_read_later[input.slot], true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::passes::testing::Example;

    #[test]
    fn only_the_last_use_of_an_output_moves_it() {
        let mut example = Example::default();
        let fed = example.builder.feed();
        let first = example.node("Neg", &[fed]);
        let square = example.node("Add", &[first, first]);
        let fetched = example.node("Neg", &[square]);
        let unread = example.node("Neg", &[fetched]);
        let draft = example.after(move_values, &[fetched]);
        let is_last_use: Vec<_> =
            draft.nodes.iter().flat_map(|node| node.inputs.iter().map(|input| input.is_last_use)).collect();
        assert_eq!(is_last_use, [false, false, true, true, false]);
        assert_eq!(draft.kept_outputs(), [fetched, unread]);
    }
}
