"""Calls of operations that a type checker rejects."""

import headrace.tf1 as tf
from headrace.tf1 import ops

image = tf.placeholder(tf.float32, [4, 4, 3])
variable = ops.Variable(1.0)
queue = ops.FIFOQueue(10, [tf.float32, tf.string], shapes=[[4, 4, 3], []])
features = {"a": tf.FixedLenFeature([], tf.int64), "b": tf.VarLenFeature("string")}
element = {"image": image, "label": 1}

ops.reshape(image, object())  # type: ignore[arg-type]
ops.reshape(image.op, [-1])  # type: ignore[arg-type]
ops.add(queue, 1)  # type: ignore[arg-type]
image + queue  # type: ignore[operator]
variable + queue  # type: ignore[operator]
variable["name"]  # type: ignore[index]
ops.zeros([2], dtype=[1])  # type: ignore[arg-type]
ops.placeholder(tf.float32, shape="name")  # type: ignore[arg-type]
ops.squeeze(image, "name")  # type: ignore[arg-type]
ops.crop_to_bounding_box(image, "top", 0, 2, 2)  # type: ignore[call-overload]
ops.reduce_sum(image, keepdims="yes")  # type: ignore[arg-type]
ops.read_file(queue)  # type: ignore[arg-type]
ops.FIFOQueue("ten", tf.float32)  # type: ignore[arg-type]
ops.TFRecordReader().read("name")  # type: ignore[arg-type]
ops.parse_single_example("", {"a": tf.int64})  # type: ignore[dict-item]
ops.get_variable("a", [2], custom_getter=print)  # type: ignore[call-arg]
ops.group("name", 1)  # type: ignore[arg-type]
ops.py_func(3, [image], tf.float32)  # type: ignore[call-overload]
