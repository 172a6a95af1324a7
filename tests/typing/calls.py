"""Calls that a type checker accepts."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

import headrace as hr
import headrace.tf1 as tf
from headrace.graph.graph import Graph
from headrace.graph.nodes import Tensor
from headrace.tf1 import ops
from headrace.tf1.coordinator import Coordinator
from headrace.tf1.queues import FIFOQueue, PaddingFIFOQueue
from headrace.tf1.session.session import Session


class Pair(NamedTuple):
    """Two tensors."""

    x: tf.Tensor
    y: tf.Tensor


x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.int32, [])
v = tf.Variable(1.0)
sparse = tf.SparseTensor([[0]], [1.0], [2])
graph = tf.get_default_graph()
session = tf.Session()
coord = tf.train.Coordinator()
queue = tf.FIFOQueue(3, tf.float32)
writer = tf.summary.FileWriter("logs", graph)
native = FIFOQueue(9, ["int64", np.float32], [[], (3,)])

x[1:, ..., None], x[y], x[0, x.shape[1]], x[np.int64(1)], x[x > 0]
x.shape.merge_with([2, None]), x.shape[0] * 2 + y.shape.num_elements()
tf.device("/cpu:0"), tf.device(lambda op: "/cpu:0"), tf.device(None), tf.colocate_with(v)
tf.control_dependencies([x, x.op, v, "name"]), tf.name_scope("a", values=[x, v])
tf.add_to_collection(("any", "key"), object())
session.run(x, feed_dict={x: np.zeros((2, 3)), "y:0": 1}).shape
session.run([x, [v, y.op], {"a": x}])[0].shape, session.run("x:0", {x: [[1, 2, 3]]})
session.run(Pair(x, y)).y, x.eval({x: 1}, session)
x.op.run(session=session)
tf.ConfigProto(log_device_placement=True).gpu_options.allow_growth
native.enqueue([1, np.zeros(3)])
native.enqueue_many(([1, 2], np.zeros((2, 3))))
native.enqueue(Path("a"))
native.enqueue({"a": 1, "b": "c"})
PaddingFIFOQueue(9, ["int64", "bool"], [[None, 2], [None]], names=["a", "b"])
tf.train.QueueRunner(queue, [queue.enqueue(1.0)]).create_threads(session, coord=coord)
tf.train.start_queue_runners(sess=session, coord=coord)
tf.train.batch([x, y], batch_size=y, shapes=[[2, 3], []])
tf.train.shuffle_batch({"x": x}, 2, capacity=9, min_after_dequeue=3)
tf.train.batch_join([[x, y] for _ in range(3)], 2)
tf.train.string_input_producer([Path("a"), "b"]), tf.train.slice_input_producer([x, [1]])
tf.train.Saver([v]).save(session, Path("model"), global_step=v)
tf.train.Saver({"v": v}, max_to_keep=None).save(session, "model", np.int64(1))
writer.add_graph(graph.as_graph_def())
writer.add_graph(graph)
tf.python_io.TFRecordWriter("a", tf.python_io.TFRecordCompressionType.GZIP)
tf.reduce_sum(x, [0], keep_dims=True), tf.squeeze(x, [1]), tf.concat(0, [x, x])
tf.py_func(len, [x], tf.int64).shape, len(tf.py_func(divmod, [x, x], [tf.float32] * 2))
tf.image.resize_images(x, [3, 4], method=tf.image.ResizeMethod.AREA)
hr.arrays({"n": np.zeros(3)}).map(hr.native(dict)).filter(hr.native(len)).batch(2)
tf.Print(x, [x, "text"]), tf.to_float(sparse)
tf.flags.DEFINE_list("a", "b,c", "Names.")

# Names that are loaded lazily have the types of their definitions.
graph_class: type[Graph] = tf.Graph
session_class: type[Session] = tf.Session
coordinator_class: type[Coordinator] = tf.train.Coordinator
concatenated: Tensor = ops.concat([x, x], 0)
