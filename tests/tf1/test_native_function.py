"""Native functions reject operations that only graphs have."""

import re

import numpy as np
import pytest

import headrace as hr
import headrace.tf1 as tf
from headrace.tf1 import ops

THIS_FILE = re.escape(__file__)


def stateful(example):
    variable = ops.Variable(1)
    return {"y": example["x"] + variable}


def queued(example):
    return {"y": ops.FIFOQueue(3, [np.int64]).dequeue()}


REFUSED = {
    "VariableV2 has state": stateful,
    "FIFOQueueV2 has state": queued,
    "PyFunc has state": lambda example: {"y": ops.py_func(abs, [example["x"]], np.int64)},
    "MatMul does not run in the engine for float64, float64": lambda example: {
        "y": ops.matmul(hr.ops.reshape(example["f"], [1, 1]), [[1.0]])
    },
    "depends on a condition": lambda example: {
        "y": ops.cond(example["x"] > 1, lambda: example["x"], lambda: -example["x"])
    },
}


@pytest.mark.parametrize("text", REFUSED)
def test_operations_that_cannot_run_per_row_are_rejected_with_the_line(text):
    components = {"x": np.arange(3), "f": np.zeros(3)}
    with pytest.raises(ValueError, match=rf"^map\(.*\): {THIS_FILE}:\d+: the operation .*{text}"):
        hr.arrays(components).map(hr.native(REFUSED[text]))


def test_tensorflow_1_requires_a_shape():
    with tf.Graph().as_default():
        image = tf.image.decode_image(tf.placeholder(tf.string, ()))
        with pytest.raises(ValueError, match="'images' contains no shape"):
            tf.image.resize_images(image, (2, 3))
