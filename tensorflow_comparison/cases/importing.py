"""Importing graphs from messages: `tf.import_graph_def`."""

from typing import Any

from tensorflow_comparison.table import case


def message(tf: Any) -> Any:
    """A placeholder, a sum with a constant, and an operation that waits for it."""
    graph = tf.Graph()
    with graph.as_default():
        a = tf.placeholder(tf.float32, [2], name="a")
        b = tf.add(a, 1.0, name="b")
        with tf.control_dependencies([b]):
            tf.identity(a, name="c")
    return graph.as_graph_def()


def names(tf: Any) -> list[str]:
    """The names of all operations of the default graph."""
    return [op.name for op in tf.get_default_graph().get_operations()]


@case([None], ["x"], [""])
def imported_twice(tf: Any, name: str | None) -> Any:
    """The names in a graph that is imported twice."""
    tf.import_graph_def(message(tf), name=name)
    elements = tf.import_graph_def(message(tf), name=name, return_elements=["b", "c:0"])
    return names(tf), [element.name for element in elements]


@case()
def in_scopes(tf: Any) -> Any:
    """The names inside another scope, and control inputs."""
    with tf.name_scope("s"):
        tf.import_graph_def(message(tf))
        tf.import_graph_def(message(tf), name="")
    graph = tf.get_default_graph()
    waited = [op.name for op in graph.get_operation_by_name("s/import/c").control_inputs]
    return names(tf), waited


@case(
    ["a:0", [1.0, 2.0]],
    ["a", [1.0, 2.0]],
    ["b:0", [1.0, 2.0]],
    ["q:0", [1.0, 2.0]],
    ["a:0", [1.0, 2.0, 3.0]],
    [3, [1.0]],
)
def mapped(tf: Any, key: Any, value: Any) -> Any:
    """Values instead of the message's tensors."""
    elements = tf.import_graph_def(message(tf), {key: value}, ["b:0", "c:0"])
    with tf.Session() as session:
        feeds = {"import/a:0": [5.0, 6.0]}
        return names(tf), [str(e.shape) for e in elements], session.run(elements[0], feeds)


@case()
def mapped_tensors(tf: Any) -> Any:
    """Other tensors instead of the message's tensors."""
    ours = tf.ones([2], name="ours")
    (b,) = tf.import_graph_def(message(tf), {"a:0": ours}, ["b"], name="")
    return names(tf), [tensor.name for tensor in b.inputs]


@case()
def mapped_without_scope(tf: Any) -> Any:
    """Replacing tensors by values needs a scope."""
    tf.import_graph_def(message(tf), {"a:0": [1.0, 2.0]}, name="")


@case([[]], [["z"]], [["b:3"]], [[3]], [["c", "a:0"]])
def returned(tf: Any, elements: Any) -> Any:
    """Requested elements."""
    result = tf.import_graph_def(message(tf), return_elements=elements)
    return None if result is None else [element.name for element in result]


@case([0, "zz"], [0, "a:4"], [0, "c"], [1, "zz"])
def read(tf: Any, position: int, source: str) -> None:
    """Missing inputs, and a cycle."""
    graph_def = message(tf)
    graph_def.node[2].input[position] = source
    tf.import_graph_def(graph_def)


@case()
def in_another_order(tf: Any) -> Any:
    """Nodes before their inputs."""
    graph_def = message(tf)
    nodes = list(graph_def.node)[::-1]
    del graph_def.node[:]
    graph_def.node.extend(nodes)
    tf.import_graph_def(graph_def)
    return names(tf)


@case()
def doubled(tf: Any) -> None:
    """Two nodes with the same name."""
    graph_def = message(tf)
    graph_def.node.add().CopyFrom(graph_def.node[0])
    tf.import_graph_def(graph_def)


@case(["x"], [3])
def no_messages(tf: Any, value: Any) -> None:
    """Invalid messages."""
    tf.import_graph_def(value)


@case()
def through_a_meta_graph(tf: Any) -> Any:
    """Variables, queue runners and numbers from another graph."""
    with tf.Graph().as_default():
        factor = tf.Variable(3, name="factor")
        number = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
        tf.add_to_collection("batch", tf.train.batch([number * factor], 5))
        tf.add_to_collection("count", 7)
        meta_graph = tf.train.export_meta_graph()
    tf.train.import_meta_graph(meta_graph)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        batch = session.run(tf.get_collection("batch")[0])
        coord.request_stop()
        coord.join(threads)
    return batch, tf.get_collection("count"), [v.name for v in tf.trainable_variables()]
