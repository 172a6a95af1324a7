"""Calls that a type checker rejects."""

import numpy as np

import headrace as hr
import headrace.tf1 as tf
from headrace.tf1.queues import FIFOQueue

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

x["a"]  # type: ignore[index]
x.shape.merge_with("abc")  # type: ignore[arg-type]
tf.device(3)  # type: ignore[arg-type]
tf.control_dependencies([3])  # type: ignore[list-item]
graph.get_tensor_by_name(x)  # type: ignore[arg-type]
session.run(3)  # type: ignore[call-overload]
session.run(x, feed_dict=[1])  # type: ignore[call-overload]
session.run(sparse).nonsense  # type: ignore[attr-defined]
x.eval(session=graph)  # type: ignore[arg-type]
native.enqueue({1, 2})  # type: ignore[arg-type]
FIFOQueue(1, "int64", ["a"])  # type: ignore[list-item]
tf.train.QueueRunner("name", [])  # type: ignore[arg-type]
tf.train.start_queue_runners(coord="coord")  # type: ignore[arg-type]
tf.train.batch(x, 2)  # type: ignore[arg-type]
tf.train.range_input_producer(object())  # type: ignore[arg-type]
tf.train.Saver([x])  # type: ignore[list-item]
tf.train.Saver(saver_def="file")  # type: ignore[arg-type]
writer.add_graph("file")  # type: ignore[arg-type]
tf.python_io.TFRecordWriter("a", [1])  # type: ignore[arg-type]
tf.squeeze(x, "a")  # type: ignore[arg-type]
tf.cond(True, x, x)  # type: ignore[arg-type]
tf.Print(x, 3)  # type: ignore[arg-type]
hr.bogus  # type: ignore[attr-defined]
hr.ops.bogus  # type: ignore[attr-defined]
tf.bogus  # type: ignore[attr-defined]
tf.train.bogus  # type: ignore[attr-defined]
tf.image.bogus  # type: ignore[attr-defined]
