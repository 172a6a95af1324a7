"""Compares graph messages.

Source: `tf.test.assert_equal_graph_def` in TensorFlow 1.15.
"""

from headrace.protos import GraphDef

__all__ = ["assert_equal_graph_def"]


def assert_equal_graph_def(
    actual: GraphDef,
    expected: GraphDef,
    checkpoint_v2: bool = False,
    hash_table_shared_name: bool = False,
) -> None:
    """Fails unless two graphs have the same nodes, in any order.

    Args:
        actual: The actual graph.
        expected: The expected graph.
        checkpoint_v2: Has no effect.
        hash_table_shared_name: Has no effect.

    Raises:
        AssertionError: If the nodes differ.
        TypeError: If an argument is not a `GraphDef`.
    """
    for name, graph in (("actual", actual), ("expected", expected)):
        if not isinstance(graph, GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(graph).__name__}")
    nodes, others = ({node.name: node for node in graph.node} for graph in (actual, expected))
    missing, added = sorted(others.keys() - nodes.keys()), sorted(nodes.keys() - others.keys())
    changed = [name for name in nodes if name in others and nodes[name] != others[name]]
    if missing or added:
        raise AssertionError(
            f"The graphs have different nodes: {missing} are missing, {added} are unexpected"
        )
    if changed:
        one = changed[0]
        raise AssertionError(
            f"These nodes differ: {', '.join(changed)}. The first is\n{nodes[one]}\n, "
            f"expected\n{others[one]}"
        )
