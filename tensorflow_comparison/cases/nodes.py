"""Nodes: names, inputs, devices and attributes."""

from contextlib import ExitStack
from typing import Any

import numpy as np

from tensorflow_comparison.table import case

MAKERS: list[Any] = [
    lambda tf: tf.placeholder(tf.float32, [None, 2], name="x"),
    lambda tf: tf.placeholder(tf.int64),
    lambda tf: tf.placeholder_with_default([1, 2], [None]),
    lambda tf: tf.constant([1, 2], name="c"),
    lambda tf: tf.constant(1.5),
    lambda tf: tf.constant(["a", "b"]),
    lambda tf: tf.constant(True),
    lambda tf: tf.constant(np.array([1 + 2j], np.complex64)),
    lambda tf: tf.constant(np.float16(2)),
    lambda tf: tf.constant(1, name=b"bytes"),
    lambda tf: tf.cast([1], tf.float32),
    lambda tf: tf.concat([[1], [2]], 0),
    lambda tf: tf.stack([[1], [2]], 1),
    lambda tf: tf.split([[1, 2]], 2, 1)[1],
    lambda tf: tf.unstack([1, 2])[0],
    lambda tf: tf.reshape([1, 2], [2, 1]),
    lambda tf: tf.expand_dims([1], 0),
    lambda tf: tf.squeeze([[1]], [0]),
    lambda tf: tf.shape([1]),
    lambda tf: tf.gather([1, 2], 0),
    lambda tf: tf.constant([1, 2])[1:],
    lambda tf: tf.reduce_sum([1.0], 0),
    lambda tf: tf.argmax([1.0], 0),
    lambda tf: tf.one_hot([1], 3),
    lambda tf: tf.tile([1], [2]),
    lambda tf: tf.pad([1], [[1, 1]]),
    lambda tf: tf.decode_raw("", tf.uint8),
    lambda tf: tf.decode_csv("1;a", [[1], [""]], field_delim=";")[1],
    lambda tf: tf.decode_csv("1;a", [[1], [""]], field_delim=b";")[1],
    lambda tf: tf.string_to_number("1"),
    lambda tf: tf.string_join(["a", "b"], "-"),
    lambda tf: tf.as_string([1]),
    lambda tf: tf.image.decode_jpeg("", channels=3, acceptable_fraction=0.5),
    lambda tf: tf.image.decode_png("", dtype=tf.uint16),
    lambda tf: tf.py_func(lambda a: a, [tf.constant(1)], [tf.int32])[0],
    lambda tf: tf.Print(tf.constant(1), [tf.constant("a")], "message", 3, 2),
    lambda tf: tf.read_file("a"),
    lambda tf: tf.FIFOQueue(3, [tf.int32, tf.string], [[2], []], shared_name="s").queue_ref,
    lambda tf: tf.RandomShuffleQueue(5, 2, [tf.int32], seed=3).queue_ref,
    lambda tf: tf.PaddingFIFOQueue(5, [tf.int32], [[None]]).queue_ref,
    lambda tf: tf.PriorityQueue(5, [tf.int32], [[]]).queue_ref,
    lambda tf: tf.FIFOQueue(3, [tf.int32, tf.string]).enqueue([1, "a"]),
    lambda tf: tf.FIFOQueue(3, [tf.int32], [[]]).enqueue_many([[1]]),
    lambda tf: tf.FIFOQueue(3, [tf.int32, tf.string]).dequeue()[0],
    lambda tf: tf.FIFOQueue(3, [tf.int32], [[]]).dequeue_many(2),
    lambda tf: tf.FIFOQueue(3, [tf.int32], [[]]).dequeue_up_to(2),
    lambda tf: tf.FIFOQueue(3, [tf.int32]).close(cancel_pending_enqueues=True),
    lambda tf: tf.TextLineReader(skip_header_lines=1).reader_ref,
    lambda tf: tf.TFRecordReader().reader_ref,
    lambda tf: tf.FixedLengthRecordReader(4, encoding="GZIP").reader_ref,
    lambda tf: tf.train.string_input_producer(["a", "b"], seed=3, num_epochs=2).queue_ref,
    lambda tf: tf.train.batch([tf.constant(1)], 2),
    lambda tf: tf.Variable([1.0], name="v"),
    lambda tf: tf.Variable(1, name="v").initializer,
    lambda tf: tf.Variable(1, name="v").assign(2),
    lambda tf: tf.Variable(1, name="v").value(),
    lambda tf: tf.random_shuffle([1, 2], seed=3),
    lambda tf: tf.group(tf.constant(1)),
    lambda tf: tf.diag([1.0]),
    lambda tf: tf.diag_part([[1.0]]),
    lambda tf: tf.matrix_band_part([[1.0]], np.int64(0), np.int64(0)),
    lambda tf: tf.cross([1, 2, 3], [1, 2, 3]),
    lambda tf: tf.depth_to_space(np.zeros([1, 1, 1, 4]), 2),
    lambda tf: tf.space_to_depth(np.zeros([1, 2, 2, 1]), 2),
    lambda tf: tf.reverse_sequence([[1]], [1], 1, 0),
    lambda tf: tf.scatter_nd([[0]], [1], [1]),
    lambda tf: tf.tensor_scatter_update([1], [[0]], [2]),
    lambda tf: tf.unravel_index([0], [1]),
    lambda tf: tf.sort([1.0]),
    lambda tf: tf.histogram_fixed_width([1.0], [0.0, 2.0]),
    lambda tf: tf.segment_mean([1.0], [0]),
    lambda tf: tf.unsorted_segment_sum([1.0], [0], 1),
    lambda tf: tf.nn.elu([1.0]),
    lambda tf: tf.nn.relu6([1.0]),
    lambda tf: tf.nn.leaky_relu([1.0]),
    lambda tf: tf.nn.softplus([1.0]),
    lambda tf: tf.nn.log_softmax([1.0]),
    lambda tf: tf.nn.softmax([1.0]),
    lambda tf: tf.nn.l2_loss([1.0]),
    lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=[[1.0]]),
    lambda tf: tf.extract_image_patches(
        np.zeros([1, 2, 2, 1]), [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"
    ),
    lambda tf: tf.image.non_max_suppression([[0.0, 0.0, 1.0, 1.0]], [1.0], 1),
]

# Attributes that later versions have added.
_NEW = frozenset(
    {"_has_manual_control_dependencies", "bad_indices_policy", "incompatible_shape_error"}
)


def described(node: Any) -> Any:
    """A node without the attributes that depend on the library, with constants as bytes."""
    attrs = {}
    for name in sorted(set(node.attr) - _NEW):
        kind = node.attr[name].WhichOneof("value")
        attrs[name] = kind, str(getattr(node.attr[name], kind))
    attrs.pop("token", None)
    return node.name, node.op, list(node.input), node.device, attrs


@case(*[(number,) for number in range(len(MAKERS))])
def made(tf: Any, number: int) -> Any:
    """Nodes of operations of many types."""
    op = MAKERS[number](tf)
    return described((op if isinstance(op, tf.Operation) else op.op).node_def)


ATTRIBUTES: list[tuple[int, str]] = [
    *((0, "dtype"), (0, "shape"), (3, "value"), (5, "value"), (11, "N"), (27, "OUT_TYPE")),
    *((27, "field_delim"), (28, "field_delim"), (27, "select_cols"), (32, "acceptable_fraction")),
    *((37, "capacity"), (37, "component_types"), (37, "shapes"), (37, "shared_name")),
    *((37, "container"), (46, "cancel_pending_enqueues"), (52, "container"), (54, "_class")),
    *((0, "nothing"), (49, "encoding")),
]


@case(*ATTRIBUTES)
def attribute(tf: Any, number: int, name: str) -> Any:
    """`get_attr` of operations of several types."""
    op = MAKERS[number](tf)
    value = (op if isinstance(op, tf.Operation) else op.op).get_attr(name)
    is_message = hasattr(value, "SerializeToString")
    if isinstance(value, list):
        return [str(item) for item in value], [isinstance(item, bytes) for item in value]
    return str(value), type(value).__name__ if is_message else isinstance(value, (bytes, tf.DType))


@case(
    *[
        (devices,)
        for devices in (
            ["/cpu:0"], ["cpu:0"], ["cpu"], ["/GPU:*"], ["/job:a/task:1"], ["/foo:1"], [""], [None],
            ["/device:XPU:3"], ["/job:a/job:b"], ["/cpu:x"], ["/cpu:0/gpu:1"], ["/job:a", "/cpu:0"],
            ["/cpu:0", "/job:a"], ["/cpu:0", "/gpu:1"], ["/job:a/cpu:0", None, "/gpu:0"],
            ["/job:a/cpu:0", ""], ["/job:a/task:1", "/job:b"], ["says /cpu:1"],
            ["/job:a", "says /cpu:1"], ["says /job:z/cpu:1", "/gpu:3"], ["says /foo:2"], ["says"],
            ["/gpu:1", "queue"],
        )
    ]
)  # fmt: skip
def device(tf: Any, devices: list[Any]) -> Any:
    """Devices of operations in `with` blocks, some of which have functions."""
    with ExitStack() as blocks:
        for name in devices:
            if name == "queue":
                return tf.FIFOQueue(1, tf.int32).queue_ref.device
            blocks.enter_context(tf.device(_function_or_name(name)))
        tensor = tf.constant(1)
    return tensor.device, tensor.op.device, tensor.op.node_def.device


def _function_or_name(name: Any) -> Any:
    if name is None or not name.startswith("says"):
        return name
    said = name.removeprefix("says").strip() or None
    return lambda op: said


@case(("nested",), ("of a device",), ("reset",), ("variable",), ("none",))
def beside(tf: Any, what: str) -> Any:
    """Colocated operations."""
    with tf.device("/cpu:1"):
        first = tf.constant(1, name="first")
        variable = tf.Variable(1, name="v")
    if what == "none":
        with tf.colocate_with(None):
            pass
    if what == "variable":
        ops = [variable.op, variable.initializer, variable.assign(2).op, variable.value().op]
        return [(op.device, op.colocation_groups()) for op in ops]
    with tf.colocate_with(first):
        second = tf.constant(2)
        with tf.colocate_with(second), tf.device("/gpu:0" if what == "of a device" else None):
            third = tf.constant(3)
        with tf.colocate_with(None, ignore_existing=True):
            fourth = tf.constant(4)
    ops = [tensor.op for tensor in (first, second, third, fourth)]
    return [(op.device, op.colocation_groups(), "_class" in op.node_def.attr) for op in ops]


@case((False,), (True,))
def whole_graph(tf: Any, add_shapes: bool) -> Any:
    """A graph as a message, which is changed."""
    tensor = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.control_dependencies([tensor]):
        tf.identity(tf.multiply(tensor, tensor), name="y")
    graph_def = tf.get_default_graph().as_graph_def(add_shapes=add_shapes)
    nodes = [described(node) for node in graph_def.node]
    graph_def.node[0].name = "other"
    return nodes, tf.get_default_graph().get_operations()[0].name


@case()
def containers(tf: Any) -> Any:
    """Queues with the same shared name in different containers."""
    queues = []
    for name in ("a", "b", "a"):
        with tf.container(name):
            queues.append(tf.FIFOQueue(3, tf.int32, shared_name="q"))
    with tf.Session() as session:
        session.run(queues[0].enqueue(1))
        return session.run([queue.size() for queue in queues])
