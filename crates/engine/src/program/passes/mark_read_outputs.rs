//! Records which outputs of a kernel are read.

use crate::program::draft::Draft;

/// Marks the outputs that a node, a guard or a fetch reads. Kernels can check this
/// ([`Run::is_read`]) and skip other outputs. For example, a reader does not create keys if nobody
/// reads them.
///
/// [`Run::is_read`]: crate::run::Run::is_read
pub fn mark_read_outputs(draft: &mut Draft) {
    let num_readers = draft.num_readers();
    for node in &mut draft.nodes {
        node.read_outputs = (0..node.num_outputs.min(u64::BITS as usize))
            .filter(|output| num_readers[node.first_output + output] > 0)
            .fold(0, |bits, output| bits | 1 << output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::passes::testing::Example;

    #[test]
    fn outputs_for_nodes_guards_and_fetches_are_marked_as_read() {
        let mut example = Example::default();
        let fed = example.builder.feed();
        let [first, second, third, _unread] = [(); 4].map(|()| example.node("Neg", &[fed]));
        let guarded = example.guarded_node("Neg", &[first], second);
        let draft = example.after(mark_read_outputs, &[third, guarded]);
        assert_eq!(draft.nodes.iter().map(|node| node.read_outputs).collect::<Vec<_>>(), [1, 1, 1, 0, 1]);
    }
}
