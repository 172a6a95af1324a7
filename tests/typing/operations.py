"""Calls of operations that a type checker accepts."""

from pathlib import Path

import numpy as np

import headrace.tf1 as tf
from headrace.tf1 import ops

image = tf.placeholder(tf.float32, [4, 4, 3])
variable = ops.Variable(1.0)
queue = ops.FIFOQueue(10, [tf.float32, tf.string], shapes=[[4, 4, 3], []])
features = {"a": tf.FixedLenFeature([], tf.int64), "b": tf.VarLenFeature("string")}
element = {"image": image, "label": 1}

ops.reshape(image, [-1, 3])
ops.reshape([1, 2, 3, 4], (ops.size(image), 1))
ops.zeros([2, image.shape[0]])
ops.constant(np.zeros(4), tf.float32, shape=image.shape)
ops.concat([image, variable * 2, image[::-1]], axis=0)
image[0, ..., tf.newaxis, 1 : ops.size(image)]
variable + 1 - image / variable
ops.stack([image.shape[0], 1, ops.shape(image)[0]])
ops.squeeze(image, [0])
ops.reduce_sum(image, axis=(0, 1))
ops.cast(image, "int32")
ops.crop_to_bounding_box(image, 0, np.int64(0), image.shape[0], tf.constant(2))
ops.read_file(Path("a"))
queue.enqueue((image, "name"))
queue.enqueue(element)
ops.FIFOQueue(10, tf.float32, shapes=[2, 3])
ops.TFRecordReader().read(queue)
ops.parse_single_example("", features)["a"] + 1
ops.decode_csv("1,a", [[0], [""]])
ops.get_variable("a", [2], initializer=ops.zeros_initializer)
ops.get_variable("b", [2], tf.int32, initializer=ops.ones_initializer())
ops.get_variable("c", initializer=3)
ops.Variable(lambda: ops.zeros([2]), collections=["mine"])
kept: tf.Variable = tf.get_variable("a", [2], None, tf.zeros_initializer())
step: tf.Variable = tf.train.create_global_step()
ops.group(image, image.op, [variable], {"a": queue.close()})
ops.py_func(np.sin, [image], tf.float32) + 1
